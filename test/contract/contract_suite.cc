// SPDX-License-Identifier: Apache-2.0
// The contract of ports/resource_manager.h: what must hold on every cluster, real or simulated.
//
// Limits are in cluster time and generous: a busy lab takes seconds where the simulator takes none.  A test
// waits for what it wants to see, never for time to pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/hostlist.h"
#include "model/slurm_state.h"
#include "test/contract/contract_test.h"

namespace sickbay::contract {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

constexpr seconds kAnswerLimit{60};
constexpr seconds kJobLimit{120};
constexpr JobId kNeverGiven = 66'000'000;

// Programs.  The "#SIM" line says to the simulator what the rest says to bash.
const char* const kSucceeds =
    "#!/bin/bash\n#SIM run=1s\necho \"run $SICKBAY_RUN on $SLURM_JOB_NODELIST\"\nsleep 1\n";
const char* const kExits3 = "#!/bin/bash\n#SIM run=1s exit=3\nsleep 1\nexit 3\n";
const char* const kDies = "#!/bin/bash\n#SIM run=1s killed=SIGTERM\nsleep 1\nkill -TERM $$\nsleep 60\n";
const char* const kRunsUntilKilled = "#!/bin/bash\n#SIM hang\nexec sleep 3600\n";

class Contract : public ContractTest {
 protected:
  Contract() : ContractTest(kAnswerLimit, kJobLimit) {}
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
  Submission submission(const std::string& script, std::vector<std::string> options) {
    Submission p;
    p.owner = cluster->user();
    p.script = script;
    p.script_name = "program.sh";
    p.sbatch_options = std::move(options);
    p.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "LANG=C"};
    p.work_dir = cluster->folder();
    return p;
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
  Result<bool> release(const JobHandle& job) {
    return ask<bool>([&](auto done) { manager().release(job, std::move(done)); });
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
  /// The job as a refresh shows it; an empty one where slurmctld has none.
  JobInfo seen(JobId job_id) {
    const auto look = refresh({job_id});
    if (!look || look->jobs.empty()) return {};
    return look->jobs.front();
  }
  bool until_state(const JobHandle& job, const std::string& state, milliseconds bound = kJobLimit) {
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

// --- submit, release, cancel ---------------------------------------------------------------------------

TEST_F(Contract, ASubmittedJobStaysHeldWhileOthersRun) {
  const JobHandle held = submitted(program(kSucceeds)), other = submitted(program(kSucceeds));
  ASSERT_TRUE(release(other));
  ASSERT_TRUE(until_over(other));
  const JobInfo job = seen(held.job_id);
  EXPECT_EQ(job.state, "PENDING");
  EXPECT_TRUE(job.held);
  EXPECT_EQ(job.uid, cluster->user().uid);
  EXPECT_EQ(job.submit, held.submit);
  EXPECT_EQ(job.start, kNoTime);
  EXPECT_EQ(job.nodes, "");
}

TEST_F(Contract, AReleasedJobRunsAndWritesItsOutput) {
  const JobHandle job = submitted(program(kSucceeds));
  const auto released = release(job);
  ASSERT_TRUE(released) << released.error().line();
  EXPECT_TRUE(*released);
  ASSERT_TRUE(until_over(job)) << last.state;
  EXPECT_EQ(last.state, "COMPLETED");
  EXPECT_FALSE(last.held);
  EXPECT_GE(last.end, last.start);
  EXPECT_THAT(file(cluster->folder() + "/out/slurm-" + std::to_string(job.job_id) + ".out"),
              HasSubstr("run 2 on n"));
}

TEST_F(Contract, ReleasingTwiceIsOk) {
  const JobHandle job = submitted(program(kRunsUntilKilled));
  ASSERT_TRUE(release(job));
  const auto again = release(job);
  ASSERT_TRUE(again) << again.error().line();
  ASSERT_TRUE(until_state(job, "RUNNING"));
  const auto running = release(job);
  ASSERT_TRUE(running) << running.error().line();
  EXPECT_FALSE(*running);
  EXPECT_EQ(seen(job.job_id).state, "RUNNING");
}

TEST_F(Contract, ExitCodesAndSignalsAreSeen) {
  struct Row {
    const char* script;
    const char* state;
    int exit_code, exit_signal;
  };
  const Row rows[] = {
      {kSucceeds, "COMPLETED", 0, 0},
      {kExits3, "FAILED", 3, 0},
      {kDies, "FAILED", 0, 15},
  };
  for (const Row& row : rows) {
    const JobHandle job = submitted(program(row.script));
    ASSERT_TRUE(release(job));
    ASSERT_TRUE(until_over(job)) << row.script;
    EXPECT_EQ(last.state, row.state) << row.script;
    EXPECT_EQ(last.exit_code, row.exit_code) << row.script;
    EXPECT_EQ(last.exit_signal, row.exit_signal) << row.script;
  }
}

TEST_F(Contract, AJobIsEndedByItsTimeLimit) {
  const JobHandle job = submitted(program(kRunsUntilKilled, {"-N1", "-t1"}));
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until([&] { return (last = seen(job.job_id)).state == "TIMEOUT"; }, seconds(240)))
      << last.state;
  EXPECT_EQ(last.time_limit_s, 60);
  EXPECT_GE(last.end - last.start, seconds(60));
}

TEST_F(Contract, ExcludedNodesAreNotUsed) {
  const auto nodes = cluster->nodes();
  // The user's own exclusion stays beside ours.
  ProgramOrder order = program(kRunsUntilKilled, {"-N2", "-t5", "--exclude=" + nodes[0]});
  order.exclude = {nodes[1]};
  const JobHandle job = submitted(order);
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_state(job, "RUNNING")) << last.reason;
  const auto used = *expand_hostlist(last.nodes);
  EXPECT_EQ(used.size(), 2u);
  EXPECT_FALSE(has_host(used, nodes[0])) << last.nodes;
  EXPECT_FALSE(has_host(used, nodes[1])) << last.nodes;
}

TEST_F(Contract, AVerificationRunsOnExactlyItsNodes) {
  const auto nodes = cluster->nodes();
  const VerificationOrder order = verification({nodes[1], nodes[3]});
  const JobHandle job = submitted(order);
  EXPECT_EQ(seen(job.job_id).state, "PENDING");
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_over(job)) << last.state << " " << last.reason;
  EXPECT_EQ(last.state, "COMPLETED");
  EXPECT_EQ(last.uid, cluster->verification_uid());
  EXPECT_THAT(*expand_hostlist(last.nodes), UnorderedElementsAreArray({nodes[1], nodes[3]}));
  EXPECT_THAT(file(order.output_dir + "/verify-" + std::to_string(job.job_id) + ".out"), HasSubstr(" on n"));
}

TEST_F(Contract, OptionsThatARerunCannotHaveAreDroppedAndTold) {
  const auto nodes = cluster->nodes();
  ProgramOrder order =
      program(kRunsUntilKilled, {"-N1", "-t5", "--nodelist=" + nodes[0], "--begin=now+1hour", "--hold"});
  order.exclude = {nodes[0]};
  const auto answer = submit(order);
  const JobHandle job = remember(answer, cluster->user().uid, order.key);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->dropped, testing::Contains("--nodelist=" + nodes[0]));
  EXPECT_THAT(answer->dropped, testing::Contains("--begin=now+1hour"));
  EXPECT_THAT(answer->dropped, testing::Contains("--hold"));
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_state(job, "RUNNING")) << last.reason;
  EXPECT_NE(last.nodes, nodes[0]);
}

TEST_F(Contract, TheCommentKeepsTheUsersOwn) {
  const ProgramOrder order = program(kSucceeds, {"-N1", "-t5", "--comment=my own words"});
  EXPECT_EQ(seen(submitted(order).job_id).comment, "my own words sickbay:" + order.key);
  const ProgramOrder bare = program(kSucceeds);
  EXPECT_EQ(seen(submitted(bare).job_id).comment, "sickbay:" + bare.key);
}

TEST_F(Contract, CancelEndsPendingAndRunningJobs) {
  const JobHandle pending = submitted(program(kSucceeds)), running = submitted(program(kRunsUntilKilled));
  ASSERT_TRUE(release(running));
  ASSERT_TRUE(until_state(running, "RUNNING"));
  for (const JobHandle& job : {pending, running}) {
    const auto cancelled = cancel(job);
    ASSERT_TRUE(cancelled) << cancelled.error().line();
    EXPECT_TRUE(*cancelled);
    ASSERT_TRUE(until_over(job)) << last.state;
    EXPECT_EQ(last.state, "CANCELLED");
    const auto again = cancel(job);
    ASSERT_TRUE(again) << again.error().line();
    EXPECT_FALSE(*again);
  }
}

TEST_F(Contract, CancelOfAnEndedOrUnknownJobIsOk) {
  const JobHandle job = submitted(program(kExits3));
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_over(job));
  const auto ended = cancel(job);
  ASSERT_TRUE(ended) << ended.error().line();
  EXPECT_FALSE(*ended);
  EXPECT_EQ(seen(job.job_id).state, "FAILED");
  const auto unknown = cancel({.job_id = kNeverGiven, .uid = job.uid, .submit = job.submit, .key = job.key});
  ASSERT_TRUE(unknown) << unknown.error().line();
  EXPECT_FALSE(*unknown);
}

TEST_F(Contract, StrangersAreNotTouched) {
  const JobHandle ours = submitted(program(kSucceeds));
  // A user's own job stands for an id that was given again: no key of ours is in it.
  const JobId strange = cluster->sbatch(submission(kRunsUntilKilled, {"-N1", "-t5", "--hold"}));
  ASSERT_NE(strange, 0u);
  const struct {
    const char* what;
    JobHandle handle;
  } rows[] = {
      {"wrong key", {.job_id = ours.job_id, .uid = ours.uid, .submit = ours.submit, .key = new_key()}},
      {"start of the key",
       {.job_id = ours.job_id,
        .uid = ours.uid,
        .submit = ours.submit,
        .key = ours.key.substr(0, ours.key.size() - 1)}},
      {"wrong uid", {.job_id = ours.job_id, .uid = ours.uid + 1, .submit = ours.submit, .key = ours.key}},
      {"id given again", {.job_id = strange, .uid = ours.uid, .submit = ours.submit, .key = ours.key}},
  };
  for (const auto& row : rows) {
    for (const auto& answer : {release(row.handle), cancel(row.handle)}) {
      ASSERT_FALSE(answer) << row.what;
      EXPECT_EQ(answer.error().code, ErrorCode::not_found) << row.what << ": " << answer.error().line();
    }
    const JobInfo job = seen(row.handle.job_id);
    EXPECT_EQ(job.state, "PENDING") << row.what;
    EXPECT_TRUE(job.held) << row.what;
  }
  const auto gone = release({.job_id = kNeverGiven, .uid = ours.uid, .submit = ours.submit, .key = ours.key});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::not_found);
  // The stranger is the test's: it has no key, so its own stamp names it.
  handles.push_back({.job_id = strange, .uid = ours.uid, .submit = seen(strange).submit, .key = ""});
}

// --- who waits for whom

TEST_F(Contract, DependentsAreTheJobsThatWaitForOneOrAreOfItsChain) {
  const auto user_job = [this](std::vector<std::string> options, const std::string& script = kSucceeds) {
    const JobId id = cluster->sbatch(submission(script, std::move(options)));
    EXPECT_GT(id, 0U);
    handles.push_back({.job_id = id, .uid = cluster->user().uid, .submit = seen(id).submit, .key = ""});
    return id;
  };
  const auto dependents = [this](JobId id, const std::string& name) {
    auto found = ask<std::vector<Dependent>>([&](auto done) {
      manager().dependents({.job_id = id, .uid = cluster->user().uid, .name = name}, std::move(done));
    });
    EXPECT_TRUE(found) << found.error().line();
    std::vector<std::pair<JobId, std::string>> list;
    if (found)
      for (const Dependent& job : *found) list.emplace_back(job.job_id, job.why);
    return list;
  };
  using Found = std::vector<std::pair<JobId, std::string>>;
  const JobId first = user_job({"-N1", "-t5", "-J", "chain"}, kRunsUntilKilled);
  const std::string id = std::to_string(first);
  const JobId after = user_job({"-N1", "-t5", "-J", "next", "--dependency=afterany:" + id}, kRunsUntilKilled);
  const JobId chain = user_job({"-N1", "-t5", "--hold", "-J", "chain", "-d", "singleton"});
  const JobId in_script = user_job({"-N1", "-t5", "--hold"},
                                   "#!/bin/bash\n#SBATCH -d afternotok:" + id + "\n#SIM run=1s\nsleep 1\n");
  user_job({"-N1", "-t5", "--hold", "-J", "other", "-d", "singleton"});
  user_job({"-N1", "-t5", "--hold"});
  ProgramOrder ours = program(kSucceeds, {"-N1", "-t5", "-J", "chain"});
  submitted(ours);
  const Found all = {{after, "dependency"}, {chain, "singleton"}, {in_script, "dependency"}};
  EXPECT_EQ(dependents(first, "chain"), all);
  EXPECT_THAT(dependents(kNeverGiven, "nobody"), IsEmpty());
  // When it has ended, one that waited begins, and what it waited for is shown no more.
  ASSERT_TRUE(cancel(handles.front()));
  ASSERT_TRUE(until([&] { return seen(after).state == "RUNNING"; }));
  EXPECT_TRUE(until([&] {
    const Found now = dependents(first, "chain");
    return std::ranges::find(now, Found::value_type{after, "dependency"}) != now.end();
  }));
}

TEST_F(Contract, WhatSlurmRefusesIsToldInItsWords) {
  const struct {
    std::vector<std::string> options;
    const char* words;
  } rows[] = {
      {{"-N" + std::to_string(cluster->nodes().size() + 1), "-t5"}, "Node count specification invalid"},
      {{"-N1", "-t5", "--exclude=none-such"}, "Invalid node name specified"},
      {{"-N1", "-t5", "--partition=none-such"}, "nvalid partition"},
      {{"-N1", "-t5", "--time=soon"}, "Invalid --time specification"},
  };
  for (const auto& row : rows) {
    const ProgramOrder order = program(kSucceeds, row.options);
    const auto answer = submit(order);
    ASSERT_FALSE(answer) << row.options.back();
    EXPECT_EQ(answer.error().code, ErrorCode::refused_by_slurm) << answer.error().line();
    EXPECT_THAT(answer.error().what, HasSubstr(row.words));
    EXPECT_THAT(found(order.key), IsEmpty());
  }
}

TEST_F(Contract, AnImpossibleExclusionIsNoticedAfterTheRelease) {
  // Slurm does not look at the nodes of a held job; once released it is held again, with a reason.
  const auto nodes = cluster->nodes();
  ProgramOrder order = program(kSucceeds, {"-N" + std::to_string(nodes.size()), "-t5"});
  order.exclude = {nodes[0]};
  const JobHandle job = submitted(order);
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until([&] { return (last = seen(job.job_id)).reason == "BadConstraints"; })) << last.reason;
  EXPECT_EQ(last.state, "PENDING");
  EXPECT_TRUE(last.held);
}

// --- find, refresh, history ----------------------------------------------------------------------------

TEST_F(Contract, FindsJobsByTheirKey) {
  const ProgramOrder order = program(kSucceeds);
  EXPECT_THAT(found(order.key), IsEmpty());
  const JobHandle first = submitted(order);
  EXPECT_EQ(found(order.key), std::vector<JobId>{first.job_id});
  // A key that only starts like it is another.
  ProgramOrder longer = order;
  longer.key += "0";
  const JobHandle other = submitted(longer);
  EXPECT_EQ(found(order.key), std::vector<JobId>{first.job_id});
  // The same order again: the port does not know better, the lowest comes first.
  const JobHandle second = submitted(order);
  EXPECT_EQ(found(order.key), (std::vector<JobId>{first.job_id, second.job_id}));
  EXPECT_LT(first.job_id, second.job_id);
  const auto of_another = find(order.key, cluster->user().uid + 1);
  ASSERT_TRUE(of_another);
  EXPECT_THAT(*of_another, IsEmpty());
}

TEST_F(Contract, FindsAForgottenJobInAccounting) {
  const ProgramOrder order = program(kExits3);
  const JobHandle job = submitted(order);
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_over(job));
  cluster->forget_ended_jobs();
  ASSERT_TRUE(until([&] { return refresh({job.job_id})->absent == std::vector<JobId>{job.job_id}; }));
  const auto jobs = find(order.key, job.uid);
  ASSERT_TRUE(jobs) << jobs.error().line();
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->front().job_id, job.job_id);
  EXPECT_EQ(jobs->front().state, "FAILED");
  EXPECT_EQ(jobs->front().exit_code, 3);
  EXPECT_EQ(jobs->front().submit, job.submit);
  EXPECT_THAT(jobs->front().comment, HasSubstr("sickbay:" + order.key));
  // Gone is not a stranger.
  const auto cancelled = cancel(job);
  ASSERT_TRUE(cancelled) << cancelled.error().line();
  EXPECT_FALSE(*cancelled);
}

TEST_F(Contract, RefreshFollowsAJobToItsEnd) {
  const JobHandle job = submitted(program(kRunsUntilKilled, {"-N2", "-t5"}));
  EXPECT_EQ(seen(job.job_id).num_nodes, 2u);
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_state(job, "RUNNING"));
  EXPECT_EQ(expand_hostlist(last.nodes)->size(), 2u) << last.nodes;
  EXPECT_GE(last.start, job.submit);
  EXPECT_EQ(last.restart_cnt, 0u);
  ASSERT_TRUE(cancel(job));
  ASSERT_TRUE(until_over(job));
  EXPECT_EQ(last.state, "CANCELLED");
  EXPECT_GE(last.end, last.start);
}

TEST_F(Contract, RefreshTellsWhatSlurmDoesNotKnow) {
  const JobHandle job = submitted(program(kSucceeds));
  const auto look = refresh({job.job_id, kNeverGiven});
  ASSERT_TRUE(look) << look.error().line();
  ASSERT_EQ(look->jobs.size(), 1u);
  EXPECT_EQ(look->jobs.front().job_id, job.job_id);
  EXPECT_EQ(look->absent, std::vector<JobId>{kNeverGiven});
  EXPECT_NE(look->controller_boot, kNoTime);
  EXPECT_THAT(look->nodes, IsEmpty()) << "nodes were not asked for";
}

TEST_F(Contract, RefreshTellsNodesOnceAndThenOnlyChanges) {
  const auto first = refresh({}, true);
  ASSERT_TRUE(first) << first.error().line();
  std::set<std::string> names;
  for (const NodeInfo& node : first->nodes) {
    names.insert(node.name);
    const auto state = parse_node_state(node.state, node.flags);
    ASSERT_TRUE(state) << node.state;
    EXPECT_THAT(node.partitions, testing::Not(IsEmpty())) << node.name;
    EXPECT_GT(node.cpus, 0u);
  }
  for (const auto& name : cluster->nodes()) EXPECT_TRUE(names.count(name)) << name;
  // At rest nothing differs; clean-up after the test before may still be seen for a while.
  ASSERT_TRUE(until([&] {
    const auto look = refresh({}, true);
    return look && look->nodes.empty();
  }));
  const JobHandle job = submitted(verification({cluster->nodes()[2]}, kRunsUntilKilled));
  ASSERT_TRUE(release(job));
  std::set<std::string> changed;
  ASSERT_TRUE(until([&] {
    const auto look = refresh({}, true);
    if (look)
      for (const NodeInfo& node : look->nodes) changed.insert(node.name);
    return !changed.empty();
  }));
  EXPECT_EQ(changed, std::set<std::string>{cluster->nodes()[2]});
}

TEST_F(Contract, AnArrayIsSeenWithAllItsTasks) {
  const std::string script =
      "#!/bin/bash\n#SIM run=1s exit=3 fail-tasks=1\nsleep 1\n[ $SLURM_ARRAY_TASK_ID = 1 ] && exit 3\nexit "
      "0\n";
  const JobId array = cluster->sbatch(submission(script, {"-N1", "-t5", "--array=0-5%2"}));
  std::map<std::string, std::string> ends;  // by task
  TaskIds seen;
  // Every look shows every task, in whatever record it stands just then.
  ASSERT_TRUE(until([&] {
    RefreshOrder order;
    order.arrays = {array, kNeverGiven};
    order.nodes = false;
    const auto look = ask<Snapshot>([&](auto done) { manager().refresh(order, std::move(done)); });
    if (!look) return false;
    seen = TaskIds();
    for (const JobInfo& task : look->tasks) {
      EXPECT_EQ(task.array_job_id, array);
      const auto ids = TaskIds::parse(task.array_task_id);
      EXPECT_TRUE(ids) << task.array_task_id;
      if (!ids) continue;
      seen.add(*ids);
      const auto state = parse_job_state(task.state, task.flags);
      if (state && is_terminal(*state)) ends[task.array_task_id] = task.state;
    }
    EXPECT_EQ(seen.text(), "0-5");
    return ends.size() == 6;
  }));
  EXPECT_EQ(ends["1"], "FAILED");
  EXPECT_EQ(ends["5"], "COMPLETED");
  ASSERT_TRUE(until([&] {
    const auto past =
        ask<std::vector<JobInfo>>([&](auto done) { manager().history({array}, std::move(done)); });
    if (!past) return false;
    std::set<std::string> tasks;
    for (const JobInfo& task : *past)
      if (task.array_job_id == array && task.uid == cluster->user().uid) tasks.insert(task.array_task_id);
    return tasks == std::set<std::string>{"0", "1", "2", "3", "4", "5"};
  }));
}

TEST_F(Contract, OneTaskOfAnArrayRunsAgainAsAnArrayOfOne) {
  ProgramOrder order = program(kSucceeds, {"-N1", "-t5", "--array=0-9%4"});
  order.array_task = 3;
  const JobHandle job = submitted(order);
  EXPECT_EQ(seen(job.job_id).array_task_id, "3");
  EXPECT_EQ(found(order.key), std::vector<JobId>{job.job_id});
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_over(job));
  EXPECT_EQ(last.state, "COMPLETED");
  EXPECT_EQ(last.job_id, job.job_id) << "the only task keeps the array's number";
}

TEST_F(Contract, HistoryHasTheEndedJobs) {
  const JobHandle job = submitted(program(kExits3));
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_over(job));
  const JobInfo end = last;
  std::vector<JobInfo> told;
  // slurmdbd hears of it a moment later.
  ASSERT_TRUE(until([&] {
    const auto answer = ask<std::vector<JobInfo>>([&](auto done) {
      manager().history({job.job_id, kNeverGiven}, std::move(done));
    });
    EXPECT_TRUE(answer) << answer.error().line();
    if (answer) told = *answer;
    return !answer || (!told.empty() && told.front().state == "FAILED");
  }));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told.front().job_id, job.job_id);
  EXPECT_EQ(told.front().uid, job.uid);
  EXPECT_THAT(told.front().comment, HasSubstr("sickbay:" + job.key)) << "from the submit line";
  EXPECT_EQ(told.front().exit_code, 3);
  EXPECT_EQ(told.front().exit_signal, 0);
  EXPECT_EQ(told.front().nodes, end.nodes);
  EXPECT_EQ(told.front().submit, end.submit);
  EXPECT_EQ(told.front().start, end.start);
  EXPECT_EQ(told.front().end, end.end);
}

// --- why a job waits -----------------------------------------------------------------------------------

TEST_F(Contract, ExplainsAHeldJob) {
  const JobHandle job = submitted(program(kSucceeds, {"-N2", "-t5"}));
  const auto facts = explain(job.job_id);
  ASSERT_TRUE(facts) << facts.error().line();
  EXPECT_EQ(facts->job_id, job.job_id);
  EXPECT_EQ(facts->uid, job.uid);
  EXPECT_EQ(facts->state, "PENDING");
  EXPECT_EQ(facts->reason, "JobHeldUser");
  EXPECT_TRUE(facts->held);
  EXPECT_EQ(facts->request.min_nodes, 2u);
  EXPECT_EQ(facts->request.time_limit_s, 300);
  EXPECT_THAT(facts->request.required, IsEmpty());
  ASSERT_EQ(facts->partitions.size(), 1u);
  EXPECT_EQ(facts->partitions[0].name, facts->partition_names);
  EXPECT_EQ(facts->partitions[0].state, "UP");
  EXPECT_EQ(facts->partitions[0].total_nodes, cluster->nodes().size());
  EXPECT_EQ(nodes_that_are(*facts, NodeHurdle::idle), sorted_hosts(cluster->nodes()));
}

// What backfill writes into the record of a job without a limit that it starts; requeued, the job waits with
// it.
TEST_F(Contract, ExplainsALimitOfAYearAsNone) {
  const JobHandle job = submitted(program(kSucceeds, {"-N1", "-t365-0"}));
  const auto facts = explain(job.job_id);
  ASSERT_TRUE(facts) << facts.error().line();
  EXPECT_EQ(facts->request.time_limit_s, 0);
}

TEST_F(Contract, ExplainsThatNodesAreInUse) {
  const std::size_t all = cluster->nodes().size();
  const JobHandle first =
      submitted(program(kRunsUntilKilled, {"-N" + std::to_string(all), "--exclusive", "-t5"}));
  ASSERT_TRUE(release(first));
  ASSERT_TRUE(until_state(first, "RUNNING")) << last.reason;
  const JobHandle next = submitted(program(kSucceeds, {"-N1", "-t5", "-x", cluster->nodes()[0]}));
  ASSERT_TRUE(release(next));
  Result<PendingFacts> facts = explain(next.job_id);
  ASSERT_TRUE(until([&] { return (facts = explain(next.job_id)) && facts->reason == "Resources"; }));
  EXPECT_FALSE(facts->held);
  EXPECT_EQ(facts->request.excluded, std::vector<std::string>{cluster->nodes()[0]});
  EXPECT_EQ(nodes_that_are(*facts, NodeHurdle::busy).size(), all - 1);
  EXPECT_EQ(nodes_that_are(*facts, NodeHurdle::unfit), std::vector<std::string>{cluster->nodes()[0]});

  const auto running = explain(first.job_id);
  ASSERT_TRUE(running) << running.error().line();
  EXPECT_EQ(running->state, "RUNNING");
  EXPECT_EQ(running->uid, first.uid);
  EXPECT_THAT(running->nodes, IsEmpty()) << "it does not wait";
}

TEST_F(Contract, ExplainsThatANamedNodeIsDrained) {
  const std::string node = cluster->nodes()[1];
  const auto drained =
      ask<bool>([&](auto done) { manager().drain(node, "sickbay:f1 R3: bus errors", std::move(done)); });
  ASSERT_TRUE(drained) << drained.error().line();
  const JobHandle job = submitted(verification({node}));
  ASSERT_TRUE(release(job));
  Result<PendingFacts> facts = explain(job.job_id);
  EXPECT_TRUE(until([&] {
    return (facts = explain(job.job_id)) && facts->reason == "ReqNodeNotAvail" &&
           !nodes_that_are(*facts, NodeHurdle::drained).empty();
  })) << (facts ? facts->to_json().dump() : facts.error().line());
  EXPECT_TRUE(ask<bool>([&](auto done) { manager().undrain(node, "sickbay:", std::move(done)); }));
  ASSERT_TRUE(facts) << facts.error().line();
  EXPECT_EQ(facts->request.required, std::vector<std::string>{node});
  ASSERT_FALSE(facts->nodes.empty());
  EXPECT_EQ(facts->nodes[0].nodes, node);
  EXPECT_THAT(facts->nodes[0].reason, HasSubstr("bus errors"));
  EXPECT_EQ(nodes_that_are(*facts, NodeHurdle::unfit).size(), cluster->nodes().size() - 1);
}

TEST_F(Contract, ExplainsNoJobThatSlurmDoesNotKnow) {
  const auto facts = explain(kNeverGiven);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::not_found) << facts.error().line();
}

// --- nodes ---------------------------------------------------------------------------------------------

TEST_F(Contract, ACrashedNodeGoesDownAndComesBack) {
  const std::string victim = cluster->nodes()[3];
  const JobHandle job = submitted(verification({cluster->nodes()[2], victim}, kRunsUntilKilled));
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_state(job, "RUNNING")) << last.reason;
  ASSERT_TRUE(refresh({}, true));

  crashed.push_back(victim);
  cluster->crash_node(victim);
  NodeInfo down;
  const auto until_node = [&](bool wanted_down) {
    return until([&] {
      const auto look = refresh({}, true);
      if (look)
        for (const NodeInfo& node : look->nodes)
          if (node.name == victim) down = node;
      const auto state = parse_node_state(down.state, down.flags);
      return state && (wanted_down ? state->base == NodeBase::down : usable(*state));
    });
  };
  ASSERT_TRUE(until_node(true)) << down.state;
  EXPECT_THAT(down.reason, HasSubstr("ot responding"));
  ASSERT_TRUE(until_over(job)) << last.state;
  EXPECT_EQ(last.state, "NODE_FAIL");
  EXPECT_THAT(*expand_hostlist(last.nodes), testing::Contains(victim));
  EXPECT_EQ(last.restart_cnt, 0u) << "--no-requeue";

  cluster->heal_node(victim);
  crashed.clear();
  ASSERT_TRUE(until_node(false)) << down.state;
}

// What peers and a question by TCP found out, Slurm takes from us before its own time-out (SlurmdTimeout).
TEST_F(Contract, ALostNodeIsSetDownAtOnceAndComesBackByItself) {
  const std::string victim = cluster->nodes()[3];
  const JobHandle job = submitted(verification({cluster->nodes()[2], victim}, kRunsUntilKilled));
  ASSERT_TRUE(release(job));
  ASSERT_TRUE(until_state(job, "RUNNING")) << last.reason;
  const auto set_down = [&](const std::string& name) {
    return ask<bool>([&](auto done) { manager().set_down(name, "Not responding", std::move(done)); });
  };
  const auto nobody = set_down("no-such-node");
  ASSERT_FALSE(nobody);
  EXPECT_TRUE(nobody.error().code == ErrorCode::not_found ||
              nobody.error().code == ErrorCode::refused_by_slurm)
      << nobody.error().line();

  crashed.push_back(victim);
  cluster->crash_node(victim);
  const auto first = set_down(victim);
  ASSERT_TRUE(first) << first.error().line();
  EXPECT_TRUE(*first);
  NodeInfo seen;
  const auto look = [&] {
    const auto answer = refresh({}, true);
    if (answer)
      for (const NodeInfo& node : answer->nodes)
        if (node.name == victim) seen = node;
    return parse_node_state(seen.state, seen.flags);
  };
  const auto state = look();
  ASSERT_TRUE(state && state->base == NodeBase::down) << "the next look shows it: " << seen.state;
  EXPECT_THAT(seen.reason, HasSubstr("ot responding"));
  // (An answer that the node gave before it crashed, and that comes late, makes slurmctld take it back once.)
  auto again = set_down(victim);
  if (again && *again) again = set_down(victim);
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_FALSE(*again) << "it was DOWN";
  ASSERT_TRUE(until_over(job)) << last.state;
  EXPECT_EQ(last.state, "NODE_FAIL");

  // With Slurm's own reason ReturnToService=1 takes it back as soon as it answers.
  cluster->heal_node(victim);
  crashed.clear();
  const auto is_back = [&] {
    const auto now = look();
    return now && usable(*now);
  };
  ASSERT_TRUE(until(is_back, std::chrono::seconds(180))) << seen.to_json().dump();
}

TEST_F(Contract, DrainsAreOursOrNotTouched) {
  const std::string node = cluster->nodes()[1];
  const auto drain = [&](const char* reason) {
    return ask<bool>([&](auto done) { manager().drain(node, reason, std::move(done)); });
  };
  const auto undrain = [&](const char* prefix) {
    return ask<bool>([&](auto done) { manager().undrain(node, prefix, std::move(done)); });
  };
  const auto first = drain("sickbay:f1 R3: bus errors");
  ASSERT_TRUE(first) << first.error().line();
  EXPECT_TRUE(*first);
  const auto look = refresh({}, true);
  ASSERT_TRUE(look);
  for (const NodeInfo& info : look->nodes)
    if (info.name == node) {
      EXPECT_THAT(info.flags, testing::Contains("DRAIN"));
      EXPECT_THAT(info.reason, HasSubstr("sickbay:f1 R3: bus errors"));
    }
  const auto again = drain("sickbay:f1 R3: bus errors");
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_FALSE(*again);
  const auto foreign = undrain("disk exchange");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::conflict) << foreign.error().line();
  const auto lifted = undrain("sickbay:f1 ");
  ASSERT_TRUE(lifted) << lifted.error().line();
  EXPECT_TRUE(*lifted);
  const auto nothing = undrain("sickbay:f1 ");
  ASSERT_TRUE(nothing) << nothing.error().line();
  EXPECT_FALSE(*nothing);

  ASSERT_TRUE(drain("disk exchange on Monday"));
  const auto over = drain("sickbay:f2 R1: slow");
  ASSERT_FALSE(over) << "a foreign reason was replaced";
  EXPECT_EQ(over.error().code, ErrorCode::conflict) << over.error().line();
  ASSERT_TRUE(undrain("disk exchange"));
}

TEST_F(Contract, ADrainedNodeIsRebootedOnceAndStaysDrained) {
  const std::string node = cluster->nodes()[1];
  NodeInfo now;  // as the looks so far have shown it
  const auto look = [&] {
    const auto seen = refresh({}, true);
    if (seen)
      for (const NodeInfo& info : seen->nodes)
        if (info.name == node) now = info;
    return seen.has_value();
  };
  const auto reboot = [&](TimePoint boot) {
    return ask<bool>([&](auto done) {
      manager().reboot({node, boot, "sickbay:f1 R3: a hung device", "sickbay:"}, std::move(done));
    });
  };
  const auto drain = [&](const char* reason) {
    return ask<bool>([&](auto done) { manager().drain(node, reason, std::move(done)); });
  };
  const auto undrain = [&](const char* prefix) {
    return ask<bool>([&](auto done) { manager().undrain(node, prefix, std::move(done)); });
  };
  // (A test before may have lifted a drain: then slurmctld has no boot time for a moment.)
  ASSERT_TRUE(until([&] { return look() && now.boot_time != kNoTime; }, std::chrono::seconds(180)));
  const TimePoint boot = now.boot_time;

  for (const char* foreign : {"", "disk exchange on Monday"}) {
    if (*foreign) {
      ASSERT_TRUE(drain(foreign));
    }
    const auto refused = reboot(boot);
    ASSERT_FALSE(refused) << "a node that we did not drain is rebooted";
    EXPECT_EQ(refused.error().code, ErrorCode::conflict) << refused.error().line();
    if (*foreign) {
      ASSERT_TRUE(undrain(foreign));
    }
  }

  ASSERT_TRUE(drain("sickbay:f1 R3: a hung device"));
  for (int round = 1; round <= 2; ++round) {  // (a second one is where Slurm would drop our reason)
    // (After each lifting of a drain slurmctld has no boot time, and holds the node for silent until it hears
    // of it.)
    const auto is_known = [&] {
      if (!look()) return false;
      const auto state = parse_node_state(now.state, now.flags);
      return now.boot_time != kNoTime && state && is_idle(*state);
    };
    ASSERT_TRUE(until(is_known, std::chrono::seconds(180))) << now.to_json().dump();
    const TimePoint before = now.boot_time;
    // (24.11 takes a boot in the very second of the request for its answer, and waits for the true one for
    // ever.)
    ASSERT_TRUE(until([&] { return cluster->loop().now() >= before + std::chrono::seconds(1); }));
    const auto asked = reboot(before);
    ASSERT_TRUE(asked) << asked.error().line();
    EXPECT_TRUE(*asked);
    const auto while_under_way = reboot(before);
    ASSERT_TRUE(while_under_way) << while_under_way.error().line();
    EXPECT_FALSE(*while_under_way);
    const auto is_back = [&] {
      if (!look()) return false;
      const auto state = parse_node_state(now.state, now.flags);
      return booted_since(now.boot_time, before) && state && is_idle(*state);
    };
    ASSERT_TRUE(until(is_back, std::chrono::seconds(180))) << now.to_json().dump();
    EXPECT_THAT(now.flags, testing::Contains("DRAIN"));
    EXPECT_THAT(now.reason, testing::StartsWith("sickbay:f1 R3: a hung device"));
    const auto again = reboot(before);
    ASSERT_TRUE(again) << again.error().line();
    EXPECT_FALSE(*again) << "it has booted since";
  }
  const auto lifted = undrain("sickbay:f1 ");
  ASSERT_TRUE(lifted) << lifted.error().line();
  EXPECT_TRUE(*lifted);
}

TEST_F(Contract, SaysWhoSlurmIs) {
  const auto uid = ask<std::uint32_t>([&](auto done) { manager().slurm_user(std::move(done)); });
  ASSERT_TRUE(uid) << uid.error().line();
  EXPECT_EQ(*uid, 0u) << "both clusters run as root";
}

// --- when things go wrong ------------------------------------------------------------------------------

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
