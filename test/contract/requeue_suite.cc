// SPDX-License-Identifier: Apache-2.0
// The contract of requeue(): a job begins anew once, and never on nodes that it is kept away from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hostlist.h"
#include "model/slurm_state.h"
#include "test/contract/contract_test.h"

namespace sickbay::contract {
namespace {

using std::chrono::seconds;

constexpr JobId kNoSuchJob = 66'000'000;
const char* const kEndsWith3 = "#!/bin/bash\n#SIM run=1s exit=3\nsleep 1\nexit 3\n";
const char* const kRunsOn = "#!/bin/bash\n#SIM hang\nexec sleep 3600\n";

class Requeue : public ContractTest {
 protected:
  Requeue() : ContractTest(seconds(60), seconds(120)) {}

  std::string new_key() {
    static int keys = 0;
    static const auto start = to_unix_seconds(cluster->loop().now()) % 100'000'000;
    return "c" + std::to_string(start * 100 + ++keys) + ".r9.a1";
  }
  ProgramOrder program(const std::string& script, std::vector<std::string> options) {
    ProgramOrder order;
    order.key = new_key();
    order.submission.owner = cluster->user();
    order.submission.script = script;
    order.submission.script_name = "program.sh";
    order.submission.sbatch_options = std::move(options);
    order.submission.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "LANG=C"};
    order.submission.work_dir = cluster->folder();
    order.output_dir = cluster->folder() + "/out";
    return order;
  }
  JobHandle submitted(const ProgramOrder& order) {
    const auto answer = ask<Submitted>([&](auto done) { manager().submit_program(order, std::move(done)); });
    EXPECT_TRUE(answer) << answer.error().line();
    if (!answer) return {};
    handles.push_back({answer->job_id, order.submission.owner.uid, answer->submit, order.key});
    return handles.back();
  }
  Result<bool> release(const JobHandle& job) {
    return ask<bool>([&](auto done) { manager().release(job, std::move(done)); });
  }
  Result<PendingFacts> explain(JobId job) {
    return ask<PendingFacts>([&](auto done) { manager().explain(job, std::move(done)); });
  }
  JobInfo seen(JobId job_id) {
    RefreshOrder order;
    order.jobs = {job_id};
    order.nodes = false;
    const auto look = ask<Snapshot>([&](auto done) { manager().refresh(order, std::move(done)); });
    return !look || look->jobs.empty() ? JobInfo() : look->jobs.front();
  }
  bool until_state(const JobHandle& job, const std::string& state) {
    return until([&] { return (last = seen(job.job_id)).state == state; });
  }
  bool until_over(const JobHandle& job) {
    return until([&] {
      last = seen(job.job_id);
      const auto state = parse_job_state(last.state, last.flags);
      return state && is_terminal(*state) && !state->has(JobFlag::completing);
    });
  }
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

  JobInfo last;  ///< what until_state() and until_over() saw last
};

TEST_F(Requeue, ARunningJobBeginsAnewAndNeverOnTheNodesItIsKeptAwayFrom) {
  const auto nodes = cluster->nodes();
  const JobHandle job = submitted(program(kRunsOn, {"-N1", "-t5", "--requeue", "--exclude=" + nodes[0]}));
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
  const JobHandle job = submitted(program(kEndsWith3, {"-N1", "-t5", "--requeue"}));
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
  const JobHandle job = submitted(program(kRunsOn, {"-N1", "-t5", "--requeue"}));
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
  gone.job_id = kNoSuchJob;
  EXPECT_EQ(begin_now(gone).error().code, ErrorCode::not_found);
}

TEST_F(Requeue, WhatSlurmDoesNotRequeue) {
  const JobHandle never = submitted(program(kRunsOn, {"-N1", "-t5", "--no-requeue"})),
                  waits = submitted(program(kRunsOn, {"-N1", "-t5", "--requeue"}));
  ASSERT_TRUE(release(never));
  ASSERT_TRUE(until_state(never, "RUNNING")) << last.reason;
  JobHandle gone = waits, other = waits;
  gone.job_id = kNoSuchJob;
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
