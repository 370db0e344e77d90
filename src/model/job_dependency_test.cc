// SPDX-License-Identifier: Apache-2.0
#include "model/job_dependency.h"

#include <gtest/gtest.h>

#include <string>

namespace sickbay {
namespace {

TEST(JobDependencies, AreReadAsGivenAndAsShown) {
  const struct {
    const char* text;
    std::vector<JobId> jobs;
    bool singleton;
  } rows[] = {
      {"", {}, false},
      {"singleton", {}, true},
      {"singleton(unfulfilled)", {}, true},
      {"afterok:12", {12}, false},
      {"afterok:12(unfulfilled),singleton(unfulfilled)", {12}, true},
      {"afterany:12_*(unfulfilled)?after:13+5(failed)", {12, 13}, false},
      {"aftercorr:12_3:14", {12, 14}, false},
      {"afternotok:12:13:14,after:15", {12, 13, 14, 15}, false},
      {"expand:7", {7}, false},
      {"afterok:", {}, false},
      {"afterok:x,:,?", {}, false},
      {"after:4294967296", {}, false},
  };
  for (const auto& row : rows) {
    const JobDependencies found = parse_job_dependencies(row.text);
    EXPECT_EQ(found.jobs, row.jobs) << row.text;
    EXPECT_EQ(found.singleton, row.singleton) << row.text;
  }
}

}  // namespace
}  // namespace sickbay
