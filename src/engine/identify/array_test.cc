// SPDX-License-Identifier: Apache-2.0
// Which failed tasks of a job array get a case, what the rest is told as, and what the array comes to.
#include "engine/identify/array.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/identify/case_view.h"

namespace sickbay::identify {
namespace {

struct Failed {
  TaskId task;
  std::string nodes = "n1";
  int exit_code = 1;
  std::string state = "FAILED";
};

// The case c1 of job array 100, told of its tasks as the watch would.
class Array {
 public:
  explicit Array(const std::string& expression) {
    event("c1", kCaseOpened,
          Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()},
                        {"options", Json::object()},
                        {"work_dir", "/home/alice"},
                        {"array", expression}}));
    event("c1", kJobBound, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
    tasks_ = TaskIds::parse(expression).value_or(TaskIds());
  }

  void event(const std::string& subject, std::string_view kind, Json body) {
    Event e;
    e.at = now += std::chrono::seconds(1);
    e.subject = subject;
    e.kind = kind;
    e.body = std::move(body);
    take(std::move(e));
  }
  void take(Event e) {
    journal.push_back(e);
    cluster::apply(cluster, e);
    apply(state, cluster.view, e);
  }

  void see(const std::string& completed, const std::vector<Failed>& failed,
           const std::string& word = "COMPLETED") {
    Json rows = Json::array(), groups = Json::array();
    for (const Failed& f : failed)
      rows.push(Json::object({{"task", f.task},
                              {"job_id", 101 + f.task},
                              {"state", f.state},
                              {"exit_code", f.exit_code},
                              {"exit_signal", 0},
                              {"nodes", f.nodes}}));
    if (!completed.empty()) groups.push(Json::object({{"state", word}, {"tasks", completed}}));
    event("c1", kArraySeen,
          Json::object({{"run", "c1.r1"},
                        {"tasks", tasks_.text()},
                        {"running", 0},
                        {"ended", std::move(groups)},
                        {"failed", std::move(rows)}}));
    settle();
  }

  // Asks until c1 has nothing more to say, as the controller does.
  void settle() {
    for (int turn = 0; turn < 16; ++turn) {
      Decision d = decide(cluster, state, policy, c1(), now);
      EXPECT_TRUE(d.commands.empty()) << "the case of an array starts nothing";
      if (d.records.empty()) return;
      for (Event& record : d.records) {
        record.at = now;
        if (record.kind == kCaseOpened) name_task_case(record, state.last_case + 1);
        take(std::move(record));
      }
    }
    ADD_FAILURE() << "it does not settle";
  }

  // The case of a task comes to its verdict.
  void decide_task(TaskId task, std::string_view cause, const std::vector<std::string>& nodes = {}) {
    const std::string name = of(task).name();
    event(name, kVerdict,
          Json::object({{"cause", cause},
                        {"final", true},
                        {"sentence", "because"},
                        {"nodes", nodes},
                        {"confidence", "high"},
                        {"rule", "V6"}}));
    event(name, kCaseClosed, Json::object());
    settle();
  }

  const Case& c1() const { return state.cases.at(1); }
  const Case& of(TaskId task) const { return *case_of_task(state, {100, task}); }
  std::string with_case() const {
    TaskIds tasks;
    for (const auto& [task, failure] : c1().array->failures)
      if (failure.case_no != 0) tasks.add(task);
    return tasks.text();
  }

  cluster::Cluster cluster;
  State state;
  Policy policy;
  TimePoint now = from_unix_seconds(1'800'000'000);
  std::vector<Event> journal;

 private:
  TaskIds tasks_;
};

std::vector<Failed> all_fail(TaskId count, const std::string& nodes = "") {
  std::vector<Failed> failed;
  for (TaskId task = 0; task < count; ++task)
    failed.push_back({task, nodes.empty() ? fmt::format("n{}", task % 10) : nodes});
  return failed;
}

TEST(JobArray, AllTasksCompleted) {
  Array a("0-19%4");
  a.see("0-18", {});
  EXPECT_FALSE(a.c1().is_closed());
  EXPECT_EQ(a.c1().array->left.text(), "19");
  a.see("19", {});
  ASSERT_TRUE(a.c1().is_closed());
  EXPECT_EQ(a.c1().verdict->cause, Cause::normal);
  EXPECT_EQ(watched(a.state).size(), 0U);
}

TEST(JobArray, EachFailureHasACaseAndTheVerdictNamesThem) {
  Array a("0-19");
  a.see("0-6,8-13,15-18", {{7, "n1"}, {14, "n2"}, {19, "n3", 135}});
  EXPECT_EQ(a.with_case(), "7,14,19");
  EXPECT_EQ(a.of(7).task.text(), "100_7");
  EXPECT_EQ(a.of(7).parent, 1);
  EXPECT_EQ(a.of(7).program(1)->job.job_id, 108U);
  EXPECT_EQ(a.of(7).program(1)->nodes, std::vector<std::string>{"n1"});
  EXPECT_EQ(a.state.by_job.at(108), a.of(7).no);
  EXPECT_EQ(a.state.by_job.at(100), 1);
  EXPECT_EQ(a.of(3).no, 1) << "a task without a case is asked about at the array's";
  a.decide_task(7, "a");
  a.decide_task(14, "a");
  EXPECT_FALSE(a.c1().is_closed()) << "one of its cases is open";
  a.decide_task(19, "b", {"n3"});
  ASSERT_TRUE(a.c1().is_closed());
  EXPECT_EQ(a.c1().verdict->sentence, "3 of 20 tasks failed: program (c2, c3), node n3 (c4).");
  EXPECT_EQ(a.c1().verdict->cause, Cause::mixed);
  EXPECT_TRUE(a.c1().verdict->nodes.empty()) << "the case of the task has blamed it: nobody is blamed twice";
  EXPECT_EQ(a.state.blamed.at("n3"), (std::set<std::int64_t>{4}));
}

TEST(JobArray, AThousandAlikeCostThreeExperimentsOnDifferentNodes) {
  Array a("0-999");
  std::vector<Failed> failed = all_fail(1000);
  for (TaskId task = 0; task < 5; ++task) failed[task].nodes = "n1";
  a.see("", failed);
  EXPECT_EQ(a.with_case(), "0,5-6");
  EXPECT_EQ(a.state.cases.size(), 4U);
  EXPECT_EQ(task_words(a.state, a.c1(), 17),
            "task 17 failed (FAILED, exit code 1): the same failure as task 0, c2");
  for (const TaskId task : {0U, 5U, 6U}) a.decide_task(task, "a");
  ASSERT_TRUE(a.c1().is_closed());
  EXPECT_EQ(a.state.cases.size(), 4U) << "and no more of them afterwards";
  EXPECT_EQ(a.c1().verdict->sentence,
            "1000 of 1000 tasks failed: program (c2, c3, c4 and 997 tasks that failed alike).");
  EXPECT_EQ(a.c1().verdict->cause, Cause::program);
  EXPECT_EQ(array_view(a.state, a.c1())["failed"].size(), 4U) << "rows of a page, not one for each task";
}

TEST(JobArray, OnlySoManyCasesAtATimeAndEver) {
  Array a("0-99");
  a.policy.array_cases = 2;
  std::vector<Failed> failed;  // each fails in its own way
  for (TaskId task = 0; task < 100; ++task) failed.push_back({task, "n1", static_cast<int>(task) + 1});
  a.see("", failed);
  EXPECT_EQ(a.with_case(), "0-1");
  a.decide_task(0, "a");
  EXPECT_EQ(a.with_case(), "0-2");
  for (TaskId task = 1; task < 8; ++task) a.decide_task(task, "a");
  EXPECT_EQ(a.with_case(), "0-7");
  ASSERT_TRUE(a.c1().is_closed());
  EXPECT_EQ(a.c1().verdict->sentence,
            "100 of 100 tasks failed: program (c2, c3, c4, c5, c6, c7, c8, c9), 92 tasks not looked into.");
  EXPECT_EQ(a.c1().verdict->cause, Cause::mixed);
}

TEST(JobArray, ANodeExplainsOnlyTasksThatRanOnIt) {
  Array a("0-9");
  // Four on the sick node, then one elsewhere with the same exit code.
  std::vector<Failed> failed = all_fail(4, "n3");
  a.see("5-9", failed);
  EXPECT_EQ(a.with_case(), "0-2");
  for (const TaskId task : {0U, 1U, 2U}) a.decide_task(task, "b", {"n3"});
  EXPECT_FALSE(a.c1().is_closed());
  EXPECT_EQ(task_words(a.state, a.c1(), 3),
            "task 3 failed (FAILED, exit code 1): the same failure as task 0, c2");
  a.see("", {{4, "n5"}});
  EXPECT_EQ(a.with_case(), "0-2,4") << "n3 does not explain what failed on n5";
  a.decide_task(4, "a");
  ASSERT_TRUE(a.c1().is_closed());
  EXPECT_EQ(a.c1().verdict->sentence,
            "5 of 10 tasks failed: node n3 (c2, c3, c4 and 1 task that failed alike), program (c5).");
}

TEST(JobArray, NeitherDoesOneThatMakesThemFailNowAndThen) {
  Array a("0-9");
  a.see("5-9", all_fail(4, "n3"));
  for (const TaskId task : {0U, 1U, 2U}) a.decide_task(task, "d", {"n3"});
  EXPECT_EQ(task_words(a.state, a.c1(), 3),
            "task 3 failed (FAILED, exit code 1): the same failure as task 0, c2");
  a.see("", {{4, "n5"}});
  EXPECT_EQ(a.with_case(), "0-2,4") << "n3 does not explain what failed on n5";
}

TEST(JobArray, WhatPeopleEndedHasNotFailed) {
  Array a("0-5");
  a.see("0-1", {});
  a.see("2-5", {}, "CANCELLED");
  ASSERT_TRUE(a.c1().is_closed());
  EXPECT_EQ(a.c1().verdict->cause, Cause::cancelled);
  EXPECT_EQ(a.c1().verdict->sentence, "No task of the array failed by itself. 4 tasks ended as CANCELLED.");
  Array b("0-5");
  b.see("1-5", {{0}}, "CANCELLED");
  b.decide_task(0, "a");
  EXPECT_EQ(b.c1().verdict->cause, Cause::program) << "the cancelled ones say nothing against it";
  EXPECT_EQ(b.c1().verdict->sentence, "1 of 6 tasks failed: program (c2). 5 tasks ended as CANCELLED.");
}

TEST(JobArray, CancellingItCancelsTheCasesOfItsTasksFirst) {
  Array a("0-3");
  a.see("1-3", {{0}});
  a.event("c1", kCancelRequested, Json::object({{"by", "alice"}}));
  a.settle();
  EXPECT_TRUE(a.of(0).cancel_requested);
  EXPECT_EQ(a.of(0).cancelled_by, "alice");
  EXPECT_FALSE(a.c1().is_closed()) << "the submission of its tasks is kept with it";
  a.event("c2", kCaseClosed, Json::object());
  a.settle();
  ASSERT_TRUE(a.c1().is_closed());
  EXPECT_EQ(a.c1().verdict->cause, Cause::cancelled);
}

TEST(JobArray, WhatSlurmHasLostEndsTheWait) {
  Array a("0-3");
  a.see("0-1", {});
  a.event("c1", kJobLost, Json::object({{"run", "c1.r1"}, {"job_id", 100}, {"tasks", "2-3"}}));
  a.settle();
  ASSERT_TRUE(a.c1().is_closed());
  EXPECT_EQ(a.c1().verdict->cause, Cause::inconclusive);
  Array never("0-3");
  never.event("c1", kJobLost, Json::object({{"run", "c1.r1"}, {"job_id", 100}, {"tasks", "0-3"}}));
  never.settle();
  EXPECT_TRUE(never.c1().is_closed());
}

TEST(JobArray, TheLastTaskBearsTheArraysNumber) {
  Array a("7");
  a.event("c1", kArraySeen,
          Json::object({{"tasks", "7"},
                        {"running", 0},
                        {"failed", Json::array({Json::object({{"task", 7},
                                                              {"job_id", 100},
                                                              {"state", "FAILED"},
                                                              {"exit_code", 3},
                                                              {"exit_signal", 0},
                                                              {"nodes", "n1"}})})}}));
  a.settle();
  EXPECT_EQ(a.state.by_job.at(100), 1) << "people ask for the whole by that number";
  EXPECT_EQ(a.of(7).no, 2);
  EXPECT_EQ(a.of(7).program(1)->job.job_id, 100U);
}

TEST(JobArray, AReplayGivesTheSame) {
  Array a("0-999");
  a.see("", all_fail(1000));
  a.decide_task(0, "a");
  State again;
  cluster::Cluster cluster;
  for (const Event& e : a.journal) {
    cluster::apply(cluster, e);
    apply(again, cluster.view, e);
  }
  EXPECT_EQ(canonical_text(again), canonical_text(a.state));
}

}  // namespace
}  // namespace sickbay::identify
