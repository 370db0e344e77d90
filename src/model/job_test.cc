// SPDX-License-Identifier: Apache-2.0
// What a submission may hold: it comes from any local user, in a request or in the file that was made of one.
#include "model/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using testing::HasSubstr;

Submission small() {
  Submission s;
  s.owner = {"alice", 60001, 60001};
  s.script = "#!/bin/sh\ntrue\n";
  s.script_name = "job.sh";
  s.sbatch_options = {"-N2"};
  s.script_args = {"one"};
  s.environment = {"PATH=/usr/bin"};
  s.work_dir = "/home/alice";
  s.limits = {{"NOFILE", 1024}, {"CORE", 0}, {"STACK", -1}};
  return s;
}

TEST(SubmissionText, ComesBackAsItWas) {
  auto read = Submission::from_json(small().to_json());
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(*read, small());
  // A client of a shell that tells no limits.
  Json without = small().to_json();
  without.set("limits", Json());
  ASSERT_TRUE(Submission::from_json(without));
}

TEST(SubmissionText, WhatItMayNotHoldIsNamedWithCauseAndRemedy) {
  Json many_limits = Json::object();
  for (int i = 0; i < 200; ++i) many_limits.set("L" + std::to_string(i), 1);
  const std::vector<std::string> crowd(40'000, "x=1");
  const struct {
    const char* key;
    Json value;
    const char* what;
  } rows[] = {
      // A name that no program could set would only fail at the re-run, hours later.
      {"limits", Json::object({{"NOFILE", 1}, {"NOSUCH", 1}}), "unknown limit 'NOSUCH'"},
      {"limits", many_limits, "unknown limit 'L0'"},
      {"limits", Json::object({{"a\n'b", 1}}), "unknown limit 'a\\n\\'b'"},
      {"limits", Json::object({{"NOFILE", "many"}}),
       "the limit NOFILE must be a whole number from -1 on, not string"},
      {"limits", Json::object({{"NOFILE", -2}}),
       "the limit NOFILE must be a whole number from -1 on, not -2"},
      {"limits", Json::array({1}), "'limits' of a submission must be an object, not array"},

      {"sbatch_options", crowd, "'sbatch_options' of a submission has 40000 entries"},
      {"script_args", crowd, "'script_args' of a submission has 40000 entries"},
      {"environment", crowd, "'environment' of a submission has 40000 entries"},

      {"environment", Json::array({std::string(200'000, 'x')}), "over 131071 bytes"},
      {"environment", Json::array({std::string("a=\0b", 4)}), "no text"},
      {"script_name", std::string(5000, 'n'), "'script_name' of a submission is over 4095 bytes"},
      {"work_dir", "/" + std::string(5000, 'd'), "'work_dir' of a submission is over 4095 bytes"},
      {"work_dir", std::string("/a\0b", 4), "no text"},
      {"work_dir", "home", "not an absolute path"},
  };
  for (const auto& row : rows) {
    Json json = small().to_json();
    json.set(row.key, row.value);
    auto read = Submission::from_json(json);
    ASSERT_FALSE(read) << row.key << ": " << row.what;
    EXPECT_EQ(read.error().code, ErrorCode::bad_input);
    EXPECT_THAT(read.error().what, HasSubstr(row.what));
    EXPECT_LT(read.error().what.size(), 300U);
    EXPECT_FALSE(read.error().cause.empty()) << read.error().what;
    EXPECT_FALSE(read.error().remedy_text.empty()) << read.error().what;
  }
}

}  // namespace
}  // namespace sickbay
