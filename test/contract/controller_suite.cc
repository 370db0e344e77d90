// SPDX-License-Identifier: Apache-2.0
// The contract of ports/resource_manager.h where slurmctld is away, forgets or answers nothing, on every
// cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/contract/contract_parts.h"

namespace sickbay::contract {
namespace {

TEST_F(Contract, AnUnclearSubmissionIsFoundAndNeverStartsTwice) {
  const ProgramOrder order = program(kSucceeds);
  manager().submit_program(order, [](Result<Submitted>) { FAIL() << "an answer for the dead"; });
  cluster->kill_caller();
  // The rule of decision 17: look the key up; none: submit again; bind the lowest, cancel the others.
  if (found(order.key).empty()) submitted(order);
  std::vector<JobId> ids;
  ASSERT_TRUE(until([&] { return !(ids = found(order.key)).empty(); }));
  const JobHandle bound{
      .job_id = ids.front(), .uid = cluster->user().uid, .submit = kNoTime, .key = order.key};
  handles.push_back(bound);
  ASSERT_TRUE(release(bound));
  ASSERT_TRUE(until_over(bound));
  EXPECT_EQ(last.state, "COMPLETED");
  for (const JobId job_id : found(order.key)) {
    if (job_id == bound.job_id) continue;
    EXPECT_TRUE(seen(job_id).held) << "a duplicate has started";
    ASSERT_TRUE(cancel({.job_id = job_id, .uid = bound.uid, .submit = kNoTime, .key = order.key}));
  }
}

TEST_F(Contract, AnAbsentControllerIsToldAsSuch) {
  ASSERT_TRUE(refresh({}));
  stop_controller(false);
  const auto look = refresh({}, true);
  ASSERT_FALSE(look);
  EXPECT_THAT(look.error().code, testing::AnyOf(ErrorCode::slurm_away, ErrorCode::timed_out))
      << look.error().line();
  const auto answer = submit(program(kSucceeds));
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().code, testing::AnyOf(ErrorCode::slurm_away, ErrorCode::timed_out))
      << answer.error().line();
  start_controller();
  EXPECT_TRUE(until([&] { return refresh({}, true).has_value(); }));
}

TEST_F(Contract, ARestartOfTheControllerKeepsJobs) {
  const JobHandle held = submitted(program(kSucceeds)), running = submitted(program(kRunsUntilKilled));
  ASSERT_TRUE(release(running));
  ASSERT_TRUE(until_state(running, "RUNNING"));
  const TimePoint before = boot();
  stop_controller(false);
  start_controller();
  ASSERT_TRUE(until([&] { return boot() > before; }));
  EXPECT_TRUE(seen(held.job_id).held);
  EXPECT_EQ(seen(running.job_id).state, "RUNNING");
  EXPECT_EQ(found(held.key), std::vector<JobId>{held.job_id});
  ASSERT_TRUE(release(held));
  ASSERT_TRUE(until_over(held));
  EXPECT_EQ(last.state, "COMPLETED");
}

TEST_F(Contract, AKilledControllerMayForgetAYoungJobAndFindTells) {
  const ProgramOrder order = program(kSucceeds);
  JobHandle job = submitted(order);
  const TimePoint before = boot();
  stop_controller(true);
  start_controller();
  ASSERT_TRUE(until([&] { return boot() > before; }));
  // Both are legal: kept, or forgotten.  find() and refresh() agree on which.
  const auto ids = found(order.key);
  const auto look = refresh({job.job_id});
  ASSERT_TRUE(look);
  if (ids.empty()) {
    const bool stranger =
        !look->jobs.empty() && look->jobs.front().comment.find(order.key) == std::string::npos;
    EXPECT_TRUE(stranger || look->absent == std::vector<JobId>{job.job_id});
    job = submitted(order);
  } else {
    EXPECT_EQ(ids, std::vector<JobId>{job.job_id});
    EXPECT_EQ(look->jobs.size(), 1u);
  }
  EXPECT_EQ(found(order.key), std::vector<JobId>{job.job_id});
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_over(job));
  EXPECT_EQ(last.state, "COMPLETED");
}

TEST_F(Contract, CallsAreCounted) {
  ASSERT_TRUE(refresh({}));
  std::uint64_t count = 0;
  for (const CallCount& call : manager().calls()) count += call.count;
  EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace sickbay::contract
