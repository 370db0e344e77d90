// SPDX-License-Identifier: Apache-2.0
// The shipped reports where the data are odd: what a log lacks, what lies beyond the period, names that two
// kinds of things share, and ties.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shipped_parts.h"

namespace sickbay::workload {
namespace {

using testing::ElementsAre;

// A log that names no users (drac-2021) has no ranking of users, not one bar "(no user)".
TEST_F(Shipped, RankNoUsersWhereTheLogNamesNone) {
  fill_small();
  fill("UPDATE jobs SET user_name = NULL, uid = 1");
  order_.plugins = plugins_;
  const auto document = make_document(store_.connection(), order_);
  ASSERT_TRUE(document) << document.error().line();
  std::vector<std::string> left_out;
  for (const ReportResult& result : document->results)
    if (result.outcome == Outcome::left_out && result.why.find("user_name") != result.why.npos)
      left_out.push_back(result.spec.id());
  EXPECT_THAT(left_out, testing::UnorderedElementsAre(
                            "cpuutilz.people", "efficiency.wasted", "floods.bursts", "gpu.user", "idle.users",
                            "limits.users", "memutilz.over_request", "people.months", "quality.audit"));
}

// A job that touches the period and ends months after it would add bars to the right of it.
TEST_F(Shipped, ShowNoMonthsBeyondThePeriod) {
  fill_small();
  fill(
      "INSERT INTO jobs (job_id, state, submit_time, start_time, end_time, elapsed, cpus, cpu_time, energy, "
      "gpus) VALUES ('9', 'COMPLETED', '2021-05-02', '2021-05-02', '2021-08-02', 7948800, 1, 7948800, 3600, 1), "
      "('8', 'COMPLETED', '2021-04-02', '2021-04-02', '2021-05-01 01:00:00', 100, 1, 100, 3600, 1)");
  make_views();
  for (const char* id : {"cpuutilz.size", "energy.month", "gpu.month"})
    for (const auto& row : rows(id)) EXPECT_EQ(row.at("month"), "2021-05-01") << id;
}

}  // namespace
}  // namespace sickbay::workload
