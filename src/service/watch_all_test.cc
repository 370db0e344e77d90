// SPDX-License-Identifier: Apache-2.0
#include "service/watch_all.h"

#include <gtest/gtest.h>

#include <map>

#include "model/job_outcome.h"

namespace sickbay {
namespace {

const TimePoint kLookedAt = from_unix_seconds(1'800'000'000);

JobInfo job_that(JobId id, std::uint32_t uid, const char* state, int lived_s, const char* comment = "") {
  JobInfo info;
  info.job_id = id;
  info.uid = uid;
  info.name = "a";
  info.comment = comment;
  info.state = state;
  info.nodes = "n1";
  info.start = kLookedAt - std::chrono::seconds(lived_s);
  if (info.state != "RUNNING") info.end = kLookedAt;
  return info;
}

std::vector<JobId> told(const std::vector<JobInfo>& jobs, Micros lives = kEarly) {
  std::vector<JobId> ids;
  if (const auto event = outcome_news(jobs, kLookedAt, lives))
    for (const Json& item : event->body["outcomes"].items()) ids.push_back(JobOutcome::from_json(item).job);
  return ids;
}

TEST(OutcomeNews, TellsOfEndsAndOfThoseThatLivedLongEnough) {
  const std::vector<JobInfo> jobs = {job_that(1, 7, "COMPLETED", 5), job_that(2, 7, "FAILED", 5),
                                     job_that(3, 7, "RUNNING", 30), job_that(4, 7, "RUNNING", 200),
                                     job_that(5, 7, "CANCELLED", 5)};
  EXPECT_EQ(told(jobs), (std::vector<JobId>{2, 1, 4}));
  EXPECT_EQ(told(jobs, Micros(0)), (std::vector<JobId>{2, 1, 3, 4}));
  EXPECT_FALSE(outcome_news({job_that(5, 7, "CANCELLED", 5)}, kLookedAt, Micros(0)));
  EXPECT_FALSE(outcome_news({}, kLookedAt, Micros(0)));
}

TEST(OutcomeNews, LeavesOurOwnRunsOut) {
  EXPECT_EQ(told({job_that(1, 7, "FAILED", 5, "mine sickbay:c3.r2.a1"), job_that(2, 7, "FAILED", 5, "mine")}),
            (std::vector<JobId>{2}));
}

TEST(OutcomeNews, AFloodTakesNobodysPlace) {
  std::vector<JobInfo> jobs;
  for (JobId id = 1; id <= 5000; ++id) jobs.push_back(job_that(id, 7, "FAILED", 2));
  for (JobId id = 6000; id < 6060; ++id) jobs.push_back(job_that(id, id, "COMPLETED", 50));
  const auto event = outcome_news(jobs, kLookedAt, kEarly);
  ASSERT_TRUE(event);
  std::map<std::uint32_t, std::size_t> of;
  for (const Json& item : event->body["outcomes"].items()) ++of[JobOutcome::from_json(item).uid];
  EXPECT_EQ(of.size(), 61U);
  EXPECT_EQ(of[7], kMostOutcomesOfUser);
  EXPECT_EQ(event->body["left_out"].as_int(), static_cast<std::int64_t>(5000 - kMostOutcomesOfUser));
  // More users than words: each that is heard is heard once before any is heard twice.
  jobs.clear();
  for (JobId id = 1; id <= 4000; ++id) jobs.push_back(job_that(id, id % 1500, "FAILED", 2));
  of.clear();
  const auto many = outcome_news(jobs, kLookedAt, kEarly);
  ASSERT_TRUE(many);
  for (const Json& item : many->body["outcomes"].items())
    EXPECT_EQ(++of[JobOutcome::from_json(item).uid], 1U);
  EXPECT_EQ(of.size(), kMostOutcomes);
}

}  // namespace
}  // namespace sickbay
