// SPDX-License-Identifier: Apache-2.0
// A run whose ranks do not go on: what its case makes of that.
#include <gmock/gmock.h>

#include "engine/identify/apply.h"
#include "engine/identify/case_view.h"
#include "engine/identify/identify.h"
#include "engine/identify/verdict.h"
#include "model/verbs.h"

namespace sickbay::identify {
namespace {

class HangTest : public testing::Test {
 protected:
  void event(std::string_view kind, Json body) {
    Event e;
    e.at = now_ += std::chrono::seconds(1);
    e.subject = "c1";
    e.kind = kind;
    e.body = std::move(body);
    cluster::apply(cluster_, e);
    apply(state_, cluster_.view, e);
  }
  void running(const char* hang) {
    event(kCaseOpened, Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()},
                                     {"options", Json::object({{"hang", hang}})},
                                     {"work_dir", "/home/alice"},
                                     {"output_dir", "/home/alice/sickbay-c1"}}));
    event(kJobBound, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
    see("RUNNING");
  }
  void see(const char* state, std::uint32_t restarts = 0) {
    JobInfo job;
    job.job_id = 100;
    job.uid = 60001;
    job.state = state;
    job.nodes = "n[1-2]";
    job.submit = from_unix_seconds(1'800'000'000);
    job.restart_cnt = restarts;
    event(kJobSeen, Json::object({{"run", "c1.r1"}, {"job", job.to_json()}}));
  }
  void hang(JobId job = 100, const char* why = "deadlock", bool proven = true) {
    event(kHangSeen, Json::object({{"run", "c1.r1"},
                                   {"job_id", job},
                                   {"judgement", Json::object({{"word", "hang"},
                                                               {"why", why},
                                                               {"text", "all wait"},
                                                               {"proven", proven},
                                                               {"unproven", proven ? "" : "a thread"}})}}));
  }
  // Asks, grants what is claimed, and notes what is intended.
  std::vector<Command> decided() {
    Decision d = decide(cluster_, state_, policy_, state_.cases.at(1), now_);
    for (const cluster::Claim& claim : d.claims) {
      const Event granted = cluster::Claims::claimed(claim);
      cluster::apply(cluster_, granted);
    }
    if (!d.claims.empty()) d = decide(cluster_, state_, policy_, state_.cases.at(1), now_);
    for (const Command& c : d.commands)
      event(kIntent, Json::object({{"key", c.key}, {"verb", c.verb}, {"args", c.args}}));
    return d.commands;
  }
  const identify::Run& r1() const { return state_.cases.at(1).programs.front(); }

  TimePoint now_ = from_unix_seconds(1'800'000'000);
  cluster::Cluster cluster_;
  State state_;
  Policy policy_;
};

TEST_F(HangTest, NotifyEndsNothing) {
  running("notify");
  hang();
  EXPECT_TRUE(r1().hangs());
  EXPECT_TRUE(decided().empty());
  const Json view = case_view(state_.cases.at(1));
  EXPECT_EQ(view["runs"].items()[0]["hang"]["text"].as_string(), "all wait");
  EXPECT_EQ(case_summary(state_.cases.at(1))["hang"].as_string(), "all wait");
  event(kHangOver, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
  EXPECT_FALSE(r1().hangs());
  EXPECT_FALSE(case_summary(state_.cases.at(1)).has("hang"));
}

TEST_F(HangTest, CancelEndsTheRunAndThatIsAFailure) {
  running("cancel");
  EXPECT_TRUE(decided().empty());
  hang();
  const auto commands = decided();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].verb, verb::kCancel);
  EXPECT_EQ(commands[0].args["job_id"].as_int(), 100);
  EXPECT_EQ(commands[0].args["key"].as_string(), "") << "the user's own submission bears no key";
  EXPECT_TRUE(decided().empty()) << "once";
  see("CANCELLED");
  EXPECT_EQ(r1().outcome, Outcome::failed);
  EXPECT_EQ(r1().symptom, Symptom::stall);
}

TEST_F(HangTest, WhatIsNotProvenIsToldAndEndsNothing) {
  running("cancel");
  hang(100, "in_doubt", false);
  EXPECT_TRUE(r1().hangs());
  const TimePoint since = r1().hang_at;
  EXPECT_TRUE(decided().empty());
  // A journal of before says nothing of proofs.
  event(
      kHangSeen,
      Json::object({{"run", "c1.r1"},
                    {"job_id", 100},
                    {"judgement", Json::object({{"word", "hang"}, {"why", "deadlock"}, {"text", "all"}})}}));
  EXPECT_TRUE(decided().empty());
  hang();
  EXPECT_EQ(r1().hang_at, since);
  ASSERT_EQ(decided().size(), 1u);
}

TEST_F(HangTest, WhoCancelsAHangingJobHimselfIsHeard) {
  running("notify");
  hang();
  see("CANCELLED");
  EXPECT_EQ(r1().outcome, Outcome::cancelled);
}

TEST_F(HangTest, WhereItWentOnNothingIsEnded) {
  running("cancel");
  hang();
  event(kHangOver, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
  EXPECT_TRUE(decided().empty());
}

TEST_F(HangTest, WhatARunLookedLikeToTheLastIsKeptOfOneThatRanIntoItsLimit) {
  const auto suspected = [&](JobId job = 100) {
    event(kHangSuspected,
          Json::object({{"run", "c1.r1"},
                        {"job_id", job},
                        {"judgement", Json::object({{"word", "suspicion"}, {"call", "MPI_Recv"}})}}));
    return r1().suspicion.is_object();
  };
  running("cancel");
  EXPECT_FALSE(suspected()) << "it runs";
  see("TIMEOUT");
  EXPECT_FALSE(suspected(101)) << "of another job";
  EXPECT_TRUE(suspected());
  EXPECT_FALSE(r1().hangs()) << "and decides nothing";
  EXPECT_EQ(case_view(state_.cases.at(1))["runs"].items()[0]["suspicion"]["call"].as_string(), "MPI_Recv");
}

TEST_F(HangTest, OfARunThatEndedByItselfNoSuspicionIsKept) {
  running("notify");
  see("COMPLETED");
  event(kHangSuspected, Json::object({{"run", "c1.r1"}, {"job_id", 100}, {"judgement", Json::object({})}}));
  event(kHangSuspected, Json());
  EXPECT_FALSE(r1().suspicion.is_object());
}

TEST_F(HangTest, AnotherEnginesJobIsNotEnded) {
  running("cancel");
  cluster::apply(
      cluster_,
      cluster::Claims::claimed(
          {.on = job_subject(100), .holder = "nonstop", .by = "j100", .reason = "it replaces nodes"}));
  hang();
  // (The controller grants no claim that another holds.)
  for (const Command& c : decide(cluster_, state_, policy_, state_.cases.at(1), now_).commands)
    EXPECT_NE(c.verb, verb::kCancel);
}

TEST_F(HangTest, AWordOnAnotherRunIsNone) {
  running("cancel");
  hang(101);
  EXPECT_FALSE(r1().hangs());
  hang();
  see("RUNNING", 1);  // Slurm runs it again
  EXPECT_FALSE(r1().hangs());
  see("COMPLETED", 1);
  hang();
  EXPECT_FALSE(r1().hangs()) << "it has ended";
}

TEST_F(HangTest, ASlowNodeDoesNotMakeADeadlock) {
  running("notify");
  hang();
  see("TIMEOUT");
  EXPECT_FALSE(time_matters(r1()));
}

}  // namespace
}  // namespace sickbay::identify
