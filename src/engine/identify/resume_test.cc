// SPDX-License-Identifier: Apache-2.0
// A job that goes on after its case: when it gets another case, what that knows, and what it does not.
#include "engine/identify/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/identify/array.h"
#include "engine/identify/case_view.h"

namespace sickbay::identify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Resume : public testing::Test {
 protected:
  Resume() {
    event("cluster", kNodesSeen,
          Json::object({{"groups", Json::array({Json::object({{"nodes", "n[1-6]"},
                                                              {"state", "IDLE"},
                                                              {"usable", true},
                                                              {"partitions", Json::array({"main"})}})})}}));
    event("c1", kCaseOpened,
          Json::object({{"owner", Json::object({{"user", "alice"}, {"uid", 1001}, {"gid", 100}})},
                        {"work_dir", "/home/alice"},
                        {"script_digest", "d1"},
                        {"options", Json::object({{"recover", true},
                                                  {"requeue", true},
                                                  {"rerun", "copy"},
                                                  {"check", "cmp x y"},
                                                  {"expect_time_s", 60},
                                                  {"steps", "fail"},
                                                  {"hang", "notify"}})}}));
    event("c1", kJobBound, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
    seen("c1", "FAILED", 0, "n[1-2]");
  }
  // Whatever happened, a replay gives the same.
  void TearDown() override {
    cluster::Cluster again;
    State from;
    for (const Event& e : journal) {
      cluster::apply(again, e);
      apply(from, again.view, e);
    }
    EXPECT_EQ(canonical_text(from), canonical_text(state));
  }
  void event(const std::string& subject, std::string_view kind, Json body = Json::object()) {
    Event e = new_event(subject, kind, std::move(body));
    e.at = now;
    journal.push_back(e);
    cluster::apply(cluster, e);
    apply(state, cluster.view, e);
  }
  void seen(const std::string& subject, const std::string& shown, std::uint32_t restart,
            const std::string& nodes) {
    JobInfo job;
    job.job_id = 100;
    job.uid = 1001;
    job.state = shown;
    job.restart_cnt = restart;
    job.nodes = nodes;
    event(subject, kJobSeen, Json::object({{"run", subject + ".r1"}, {"job", job.to_json()}}));
  }
  void recovery(const std::string& name, const std::string& source, const std::string& of = "job",
                std::uint32_t restart = 0) {
    event(name, kRecoveryOpened,
          Json::object(
              {{"class", of},
               {"source", source},
               {"job", Json::object({{"job_id", 100}, {"restart_cnt", restart}, {"exclude", "n2"}})}}));
  }
  void ends(const std::string& name, const std::string& outcome, const std::string& of = "job") {
    event(name, kRecoveryClosed,
          Json::object({{"class", of}, {"outcome", outcome}, {"why", "slurmctld knows no job 100"}}));
  }
  std::vector<Event> wanted(std::int64_t no) {
    return decide(cluster, state, policy, state.cases.at(no), now).records;
  }
  // As the seat does.
  void open_next(std::int64_t before) {
    for (Event record : wanted(before)) {
      name_task_case(record, state.last_case + 1);
      event(record.subject, record.kind, record.body);
    }
  }

  cluster::Cluster cluster;
  State state;
  Policy policy;
  TimePoint now = from_unix_seconds(1'800'000'000);
  std::vector<Event> journal;
};

TEST_F(Resume, TheRunThatFollowsHasACaseOfItsOwn) {
  event("c1", kCaseClosed);
  recovery("r3", "c1");
  EXPECT_THAT(wanted(1), IsEmpty()) << "it is not done yet";
  ends("r3", "cured");
  ASSERT_EQ(wanted(1).size(), 1u);
  open_next(1);
  EXPECT_THAT(wanted(1), IsEmpty()) << "once";
  const Case& c2 = state.cases.at(2);
  EXPECT_EQ(c2.resumes, 1);
  EXPECT_EQ(submission_case(c2), 1);
  EXPECT_EQ(c2.job_id(), 100u);
  EXPECT_EQ(c2.owner.user, "alice");
  EXPECT_EQ(c2.output_dir, "/home/alice/sickbay-c2");
  EXPECT_EQ(c2.script_digest, "d1");
  EXPECT_TRUE(c2.options.recover && c2.options.requeue && c2.options.steps_fail);
  EXPECT_EQ(c2.options.check, "cmp x y");
  EXPECT_EQ(c2.options.expect_time_s, 60);
  EXPECT_EQ(c2.options.hang, HangMode::notify);
  EXPECT_TRUE(c2.reruns.checked);
  EXPECT_EQ(c2.reruns.wish, RerunWay::copy);
  EXPECT_THAT(
      c2.notes,
      ElementsAre("goes on with job 100, which was put back into the queue after c1, to run without n2"));
  EXPECT_EQ(state.by_job.at(100), 2) << "who asks for the job is told how it goes on";
  EXPECT_EQ(case_view(c2)["resumes"].as_string(), "c1");
  EXPECT_EQ(watched(state).size(), 1u);
}

TEST_F(Resume, WhatWasSeenBeforeTheRestartIsTheOtherCases) {
  event("c1", kCaseClosed);
  recovery("r3", "c1");
  ends("r3", "cured");
  open_next(1);
  seen("c2", "FAILED", 0, "n[1-2]");
  const identify::Run& run = state.cases.at(2).programs.front();
  EXPECT_FALSE(ended(run.outcome));
  EXPECT_THAT(run.nodes, IsEmpty());
  seen("c2", "PENDING", 1, "");
  seen("c2", "RUNNING", 1, "n[1,3]");
  EXPECT_EQ(run.outcome, Outcome::running);
  EXPECT_THAT(run.earlier, IsEmpty()) << "no restart of this case";
  seen("c2", "FAILED", 1, "n[1,3]");
  EXPECT_EQ(run.outcome, Outcome::failed);
  EXPECT_THAT(run.nodes, ElementsAre("n1", "n3"));
}

TEST_F(Resume, AThirdRunIsOfTheSameSubmission) {
  event("c1", kCaseClosed);
  recovery("r3", "c1");
  ends("r3", "cured");
  open_next(1);
  seen("c2", "FAILED", 1, "n[1,3]");
  EXPECT_FALSE(all_closed_at(state, state.cases.at(1)));
  now += std::chrono::hours(1);
  event("c2", kCaseClosed);
  EXPECT_EQ(all_closed_at(state, state.cases.at(1)), now);
  recovery("r4", "c2", "job", 1);
  ends("r4", "cured");
  open_next(2);
  EXPECT_EQ(state.cases.at(3).resumes, 2);
  EXPECT_EQ(submission_case(state.cases.at(3)), 1);
  EXPECT_EQ(state.cases.at(3).programs.front().job.restart_cnt, 2u);
}

TEST_F(Resume, WhatMakesNoOtherCase) {
  event("c1", kCaseClosed);
  recovery("r1", "by alice");
  ends("r1", "cured");
  EXPECT_THAT(wanted(1), IsEmpty()) << "an operator's word: nobody asked for a case";
  recovery("r2", "c9");
  ends("r2", "cured");
  EXPECT_THAT(wanted(1), IsEmpty()) << "of another case";
  recovery("r3", "c1", "component");
  ends("r3", "cured", "component");
  EXPECT_THAT(wanted(1), IsEmpty()) << "of no job";
  for (const char* outcome : {"given_up", "refused", "gone"}) {
    recovery("r4", "c1");
    ends("r4", outcome);
    EXPECT_THAT(wanted(1), IsEmpty()) << outcome;
  }
  EXPECT_THAT(state.cases.at(1).notes,
              testing::Contains("the job did not go back into the queue (r4: slurmctld knows no job 100)"))
      << "who was told that it would is told so";
  EXPECT_THAT(state.resuming, IsEmpty());
}

TEST_F(Resume, AnArchivedCaseWaitsForNothing) {
  event("c1", kCaseClosed);
  recovery("r3", "c1");
  ends("r3", "cured");
  event("c1", kArchived);
  EXPECT_THAT(state.resuming, IsEmpty());
}

TEST_F(Resume, TheAdviceIsNotToDoWhatIsDone) {
  Verdict verdict;
  verdict.cause = Cause::node;
  verdict.nodes = {"n2"};
  Case& c1 = state.cases.at(1);
  EXPECT_TRUE(goes_back(c1, verdict));
  verdict.cause = Cause::program;
  EXPECT_FALSE(goes_back(c1, verdict));
  verdict.cause = Cause::sometimes_node;
  EXPECT_TRUE(goes_back(c1, verdict));
  verdict.nodes.clear();
  EXPECT_FALSE(goes_back(c1, verdict)) << "which node is not known";
  verdict.nodes = {"n2"};
  Case delivers = c1, silent = c1;
  delivers.options.deliver = true;
  silent.options.recover = false;
  EXPECT_FALSE(goes_back(delivers, verdict));
  EXPECT_FALSE(goes_back(silent, verdict));
}

}  // namespace
}  // namespace sickbay::identify
