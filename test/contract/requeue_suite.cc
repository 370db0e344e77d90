// SPDX-License-Identifier: Apache-2.0
// The contract of requeue(): a job begins anew once, and never on nodes that it is kept away from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/contract/contract_parts.h"

namespace sickbay::contract {
namespace {

using std::chrono::seconds;

class Requeue : public Contract {
 protected:
  Result<Requeued> requeue(const JobHandle& job, std::uint32_t restart_cnt = 0,
                           std::vector<std::string> exclude = {}) {
    // What is being cleaned up is busy on one cluster, and waits for that in the queue on the other.
    Result<Requeued> answer = fail(ErrorCode::busy, "not asked yet");
    (void)until([&] {
      answer = ask<Requeued>([&](auto done) {
        manager().requeue({job, restart_cnt, exclude}, std::move(done));
      });
      return answer || answer.error().code != ErrorCode::busy;
    });
    return answer;
  }
};

TEST_F(Requeue, ARunningJobBeginsAnewAndNeverOnTheNodesItIsKeptAwayFrom) {
  const auto nodes = cluster->nodes();
  const JobHandle job =
      submitted(program(kRunsUntilKilled, {"-N1", "-t5", "--requeue", "--exclude=" + nodes[0]}));
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_state(job, "RUNNING")) << last.reason;
  const std::string had = last.nodes;
  const auto done = requeue(job, 0, {had});
  ASSERT_TRUE(done) << done.error().line() << ": " << done.error().cause;
  EXPECT_TRUE(done->did);
  EXPECT_TRUE(done->excluded) << done->said;
  // The answer may have been lost: it is done once, and what is so is told.
  for (int time = 0; time < 2; ++time) {
    const auto again = requeue(job, 0, {had});
    ASSERT_TRUE(again) << again.error().line();
    EXPECT_FALSE(again->did);
    EXPECT_TRUE(again->excluded) << again->said;
  }
  ASSERT_TRUE(until_state(job, "PENDING"));
  ASSERT_TRUE(until([&] { return !(last = seen(job.job_id)).held; })) << last.reason;
  EXPECT_EQ(last.restart_cnt, 1u);
  EXPECT_EQ(last.uid, job.uid);
  const auto facts = explain(job.job_id);
  ASSERT_TRUE(facts) << facts.error().line();
  EXPECT_EQ(facts->request.excluded, sorted_hosts({nodes[0], had})) << "its owner's own stays";
}

TEST_F(Requeue, AJobThatHasEndedBeginsAnew) {
  const JobHandle job = submitted(program(kExits3, {"-N1", "-t5", "--requeue"}));
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_over(job));
  const auto done = requeue(job);
  ASSERT_TRUE(done) << done.error().line() << ": " << done.error().cause;
  EXPECT_TRUE(done->did);
  EXPECT_FALSE(done->excluded) << "nothing was to be";
  ASSERT_TRUE(until_state(job, "PENDING"));
  EXPECT_EQ(last.restart_cnt, 1u);
  EXPECT_FALSE(last.held);
  EXPECT_EQ(last.nodes, "");
}

TEST_F(Requeue, WhatBeganAnewNeedNotWaitForItsBeginTime) {
  const JobHandle job = submitted(program(kRunsUntilKilled, {"-N1", "-t5", "--requeue"}));
  const auto begin_now = [&](const JobHandle& which) {
    return ask<bool>([&](auto done) { manager().begin_now(which, std::move(done)); });
  };
  EXPECT_FALSE(begin_now(job).value_or(true)) << "it is held, and waits for that";
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_state(job, "RUNNING")) << last.reason;
  EXPECT_FALSE(begin_now(job).value_or(true)) << "it runs";
  ASSERT_TRUE(requeue(job));
  // (Not before its nodes are clean.)
  ASSERT_TRUE(until([&] { return begin_now(job).value_or(false); }));
  const TimePoint asked = cluster->loop().now();
  ASSERT_TRUE(until_state(job, "RUNNING")) << last.reason;
  EXPECT_LT(cluster->loop().now() - asked, seconds(60)) << "Slurm's own two minutes are not over";
  EXPECT_EQ(last.restart_cnt, 1u);
  JobHandle gone = job;
  gone.job_id = kNeverGiven;
  EXPECT_EQ(begin_now(gone).error().code, ErrorCode::not_found);
}

TEST_F(Requeue, WhatSlurmDoesNotRequeue) {
  const JobHandle never = submitted(program(kRunsUntilKilled, {"-N1", "-t5", "--no-requeue"})),
                  waits = submitted(program(kRunsUntilKilled, {"-N1", "-t5", "--requeue"}));
  ASSERT_TRUE(release(never));
  ASSERT_TRUE(until_state(never, "RUNNING")) << last.reason;
  JobHandle gone = waits, other = waits;
  gone.job_id = kNeverGiven;
  other.key = new_key();
  const struct {
    const char* what;
    JobHandle job;
    ErrorCode code;
  } rows[] = {{"its owner said so", never, ErrorCode::conflict},
              {"it has not begun", waits, ErrorCode::conflict},
              {"there is none", gone, ErrorCode::not_found},
              {"a stranger has its number", other, ErrorCode::not_found}};
  for (const auto& row : rows) {
    const auto answer = requeue(row.job, 0, {cluster->nodes()[0]});
    ASSERT_FALSE(answer) << row.what;
    EXPECT_EQ(answer.error().code, row.code) << row.what << ": " << answer.error().line();
  }
  EXPECT_EQ(seen(never.job_id).state, "RUNNING");
  EXPECT_EQ(seen(waits.job_id).restart_cnt, 0u);
}

}  // namespace
}  // namespace sickbay::contract
