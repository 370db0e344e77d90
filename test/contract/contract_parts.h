// SPDX-License-Identifier: Apache-2.0
// What the parts of the contract of jobs, nodes and the controller share: programs, orders, and what is
// waited for.
//
// Limits are in cluster time and generous: a busy lab takes seconds where the simulator takes none.  A test
// waits for what it wants to see, never for time to pass.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/hostlist.h"
#include "model/slurm_state.h"
#include "test/contract/contract_test.h"

namespace sickbay::contract {

inline constexpr std::chrono::seconds kAnswerLimit{60};
inline constexpr std::chrono::seconds kJobLimit{120};
inline constexpr JobId kNeverGiven = 66'000'000;

// Programs.  The "#SIM" line says to the simulator what the rest says to bash.
inline const char* const kSucceeds =
    "#!/bin/bash\n#SIM run=1s\necho \"run $SICKBAY_RUN on $SLURM_JOB_NODELIST\"\nsleep 1\n";
inline const char* const kExits3 = "#!/bin/bash\n#SIM run=1s exit=3\nsleep 1\nexit 3\n";
inline const char* const kDies =
    "#!/bin/bash\n#SIM run=1s killed=SIGTERM\nsleep 1\nkill -TERM $$\nsleep 60\n";

class Contract : public ContractTest {
 protected:
  explicit Contract(std::chrono::seconds answer = kAnswerLimit, std::chrono::seconds bound = kJobLimit)
      : ContractTest(answer, bound) {}
  void TearDown() override {
    if (controller_stopped) cluster->start_controller();
    for (const auto& name : crashed) cluster->heal_node(name);
    ContractTest::TearDown();
  }

  /// A key that no test before used, also on a cluster that is shared by many runs.
  std::string new_key(int run = 2) {
    static int keys = 0;
    static const auto start = to_unix_seconds(cluster->loop().now()) % 100'000'000;
    return "c" + std::to_string(start * 100 + ++keys) + ".r" + std::to_string(run) + ".a1";
  }

  ProgramOrder program(const std::string& script, std::vector<std::string> options = {"-N1", "-t5"}) {
    ProgramOrder order;
    order.key = new_key();
    order.submission = submission(script, std::move(options));
    order.output_dir = cluster->folder() + "/out";
    return order;
  }
  VerificationOrder verification(std::vector<std::string> nodes, const std::string& script = kSucceeds) {
    VerificationOrder order;
    order.key = new_key();
    order.key.replace(order.key.find(".r"), 3, ".v1");
    order.nodes = std::move(nodes);
    order.script = script;
    order.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
    order.output_dir = cluster->folder() + "/verify";
    return order;
  }

  Result<Submitted> submit(const ProgramOrder& order) {
    return ask<Submitted>([&](auto done) { manager().submit_program(order, std::move(done)); });
  }
  JobHandle submitted(const ProgramOrder& order) {
    return remember(submit(order), order.submission.owner.uid, order.key);
  }
  JobHandle submitted(const VerificationOrder& order) {
    return remember(ask<Submitted>([&](auto done) { manager().submit_verification(order, std::move(done)); }),
                    cluster->verification_uid(), order.key);
  }
  JobHandle remember(const Result<Submitted>& answer, std::uint32_t uid, const std::string& key) {
    EXPECT_TRUE(answer) << answer.error().line() << ": " << answer.error().cause;
    if (!answer) return {};
    EXPECT_GT(answer->job_id, 0u);
    handles.push_back({.job_id = answer->job_id, .uid = uid, .submit = answer->submit, .key = key});
    return handles.back();
  }
  Result<bool> release(const JobHandle& job, bool first = false) {
    return ask<bool>([&](auto done) { manager().release({job, first}, std::move(done)); });
  }
  Result<bool> cancel(const JobHandle& job) {
    return ask<bool>([&](auto done) { manager().cancel(job, std::move(done)); });
  }
  Result<std::vector<JobInfo>> find(const std::string& key, std::uint32_t uid) {
    return ask<std::vector<JobInfo>>([&](auto done) { manager().find(key, uid, std::move(done)); });
  }
  std::vector<JobId> found(const std::string& key) {
    const auto jobs = find(key, cluster->user().uid);
    EXPECT_TRUE(jobs) << jobs.error().line();
    std::vector<JobId> ids;
    if (jobs)
      for (const JobInfo& job : *jobs) ids.push_back(job.job_id);
    return ids;
  }
  Result<Snapshot> refresh(std::vector<JobId> jobs, bool nodes = false) {
    return ask<Snapshot>(
        [&](auto done) { manager().refresh({.jobs = jobs, .arrays = {}, .nodes = nodes}, std::move(done)); });
  }
  Result<PendingFacts> explain(JobId job) {
    return ask<PendingFacts>([&](auto done) { manager().explain(job, std::move(done)); });
  }
  static std::vector<std::string> nodes_that_are(const PendingFacts& facts, NodeHurdle hurdle) {
    std::vector<std::string> names;
    for (const PendingNodes& group : facts.nodes)
      if (group.hurdle == hurdle)
        names = hosts_in_either(names, sorted_hosts(expand_hostlist(group.nodes).value()));
    return names;
  }
  bool until_state(const JobHandle& job, const std::string& state,
                   std::chrono::milliseconds bound = kJobLimit) {
    return until([&] { return (last = seen(job.job_id)).state == state; }, bound);
  }
  bool until_over(const JobHandle& job) {
    return until([&] {
      last = seen(job.job_id);
      const auto state = parse_job_state(last.state, last.flags);
      return state && is_terminal(*state) && !state->has(JobFlag::completing);
    });
  }
  std::string file(const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void stop_controller(bool killed) {
    cluster->stop_controller(killed);
    controller_stopped = true;
  }
  void start_controller() {
    cluster->start_controller();
    controller_stopped = false;
  }
  TimePoint boot() {
    const auto look = refresh({});
    return look ? look->controller_boot : kNoTime;
  }

  std::vector<std::string> crashed;
  bool controller_stopped = false;
  JobInfo last;  ///< what until_state() and until_over() saw last
};

}  // namespace sickbay::contract
