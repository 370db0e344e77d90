// SPDX-License-Identifier: Apache-2.0
// The contract of ports/resource_manager.h, what it says of jobs: what must hold on every cluster, real or
// simulated.  Nodes and a controller that fails have files of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "test/contract/contract_parts.h"

namespace sickbay::contract {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

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

}  // namespace
}  // namespace sickbay::contract
