// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/usual_time.h"

#include "engine/identify/rerun_test_world.h"

namespace sickbay::identify {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

struct Jobs {
  RerunWorld w;
  std::int64_t last = 0;

  /// The verdict on a job that completes after so many seconds.
  const Case& run(int lived, const char* digest = "d1", const char* nodes = "n[1-2]") {
    const std::int64_t no = ++last;
    w.event(case_name(no), kCaseOpened,
            Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()},
                          {"options", Json::object({{"rerun", "same"}})},
                          {"work_dir", "/home/alice"},
                          {"output_dir", "/home/alice/sickbay"},
                          {"script_digest", digest}}));
    w.event(case_name(no), kJobBound, Json::object({{"run", case_name(no) + ".r1"}, {"job_id", 100 + no}}));
    JobInfo job;
    job.job_id = static_cast<JobId>(100 + no);
    job.uid = 60001;
    job.state = "COMPLETED";
    job.partition = "main";
    job.nodes = nodes;
    job.start = w.now;
    job.end = w.now += std::chrono::seconds(lived);
    w.event(case_name(no), kJobSeen, Json::object({{"run", case_name(no) + ".r1"}, {"job", job.to_json()}}));
    w.settle();
    return w.c(no);
  }
};

TEST(UsualTime, AJobThatTookMuchLongerIsToldAndStaysNormal) {
  Jobs jobs;
  for (const int lived : {40, 44, 42}) EXPECT_THAT(jobs.run(lived).verdict->why, IsEmpty());
  const Case& slow = jobs.run(90);
  EXPECT_EQ(slow.verdict->cause, Cause::normal);
  EXPECT_THAT(slow.verdict->why, Contains(HasSubstr("the same job took 42 s in 3 good runs before")));
  EXPECT_THAT(slow.verdict->next, Contains(HasSubstr("--expect-time=66s")));
  EXPECT_THAT(jobs.run(60).verdict->why, IsEmpty()) << "the longest is usual from now on";
}

TEST(UsualTime, WhatIsUsualTakesThreeRunsOfTheSameJob) {
  Jobs few;
  few.run(40), few.run(40);
  EXPECT_THAT(few.run(200).verdict->why, IsEmpty());
  Jobs jobs;
  for (int i = 0; i < 3; ++i) jobs.run(40);
  EXPECT_THAT(jobs.run(200, "d2").verdict->why, IsEmpty()) << "another script";
  EXPECT_THAT(jobs.run(200, "d1", "n1").verdict->why, IsEmpty()) << "fewer nodes";
  EXPECT_THAT(jobs.run(200, "").verdict->why, IsEmpty()) << "an older client";
  EXPECT_THAT(jobs.run(55).verdict->why, IsEmpty()) << "not by half";
}

TEST(UsualTime, AFewSecondsAreNothing) {
  for (const int lived : {13, 14}) {
    Jobs jobs;
    for (int i = 0; i < 3; ++i) jobs.run(3);
    EXPECT_EQ(jobs.run(lived).verdict->why.size(), lived == 14 ? 1U : 0U);
  }
}

}  // namespace
}  // namespace sickbay::identify
