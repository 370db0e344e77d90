// SPDX-License-Identifier: Apache-2.0
// When the submission of a case goes, on a controller whose journal and store outlive it.
#include "service/submissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_journal.h"
#include "adapters/sim/sim_loop.h"
#include "adapters/sim/sim_processes.h"
#include "model/ids.h"
#include "service/case_store.h"
#include "service/controller.h"
#include "service/effects.h"

namespace sickbay {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

struct Store : CaseStore {
  std::set<std::int64_t> there;
  bool broken = false;
  Status save(std::int64_t no, const Submission&) override {
    there.insert(no);
    return {};
  }
  Result<Submission> load(std::int64_t no) override {
    if (!there.contains(no)) return fail(ErrorCode::not_found, "no submission");
    return Submission();
  }
  Status remove(std::int64_t no) override {
    if (broken) return fail(ErrorCode::storage_broken, "read-only");
    there.erase(no);
    return {};
  }
  Result<std::vector<std::int64_t>> list() const override {
    if (broken) return fail(ErrorCode::storage_broken, "unreadable");
    return std::vector<std::int64_t>(there.begin(), there.end());
  }
};

// One life of sickbayd.
struct Life {
  Life(sim::SimLoop& loop, sim::SimCluster& cluster, sim::SimProcesses& processes, sim::SimJournal& journal,
       Store& store, const Config& config)
      : effects(loop, cluster, processes, store, config, {"#!/bin/sh\n", {}, 0, 0}),
        seats(config),
        controller(loop, journal, cluster, effects, seats, config),
        submissions(loop, controller, store, config.keep_submission,
                    [this](const Error& error) { complaints.push_back(error.line()); }) {
    EXPECT_TRUE(controller.replay());
    swept = submissions.sweep();
  }
  Effects effects;
  Seats seats;
  Controller controller;
  std::vector<std::string> complaints;
  Submissions submissions;
  std::size_t swept = 0;
};

class SubmissionsTest : public ::testing::Test {
 protected:
  SubmissionsTest() : cluster_(loop_, {}), processes_(loop_, cluster_) {}
  // (The engines are not asked: what happens is what a test says.)
  void live() {
    life_.reset();
    life_.emplace(loop_, cluster_, processes_, journal_, store_, config_);
  }
  void pass(seconds time) { loop_.run_until(loop_.now() + time); }
  Status happens(const std::string& subject, std::string_view kind, Json body = Json::object()) {
    Event event;
    event.subject = subject;
    event.kind = kind;
    event.body = std::move(body);
    Status said = fail(ErrorCode::internal, "no answer");
    life_->controller.take({std::move(event)}, [&](Status kept) { said = std::move(kept); });
    pass(seconds(1));
    return said;
  }
  void open(std::int64_t no) {
    ASSERT_TRUE(store_.save(no, {}));
    ASSERT_TRUE(happens(case_name(no), identify::kCaseOpened,
                        Json::object({{"owner", Owner{"alice", 1, 1}.to_json()}})));
  }
  Status close(std::int64_t no) { return happens(case_name(no), kCaseClosed); }

  sim::SimLoop loop_;
  sim::SimCluster cluster_;
  sim::SimProcesses processes_;
  sim::SimJournal journal_;
  Store store_;
  Config config_;
  std::optional<Life> life_;
};

TEST_F(SubmissionsTest, GoWithTheEndOfTheirCase) {
  live();
  open(1), open(2);
  ASSERT_TRUE(happens("c1", identify::kCancelRequested, Json::object({{"by", "alice"}})));
  EXPECT_THAT(store_.there, ElementsAre(1, 2)) << "an open case may be run again";
  ASSERT_TRUE(close(1));
  EXPECT_THAT(store_.there, ElementsAre(2));
}

TEST_F(SubmissionsTest, StayWhileACommandOfTheirCaseIsUnderWay) {
  live();
  open(1);
  const Command reading{"c1.r1:read", "c1", "read_output", Json::object()};
  const Event intent = Ledger::intent(reading), done = Ledger::done(reading, Json::object());
  ASSERT_TRUE(happens("c1", intent.kind, intent.body));
  ASSERT_TRUE(close(1));
  EXPECT_THAT(store_.there, ElementsAre(1)) << "each try of an effect loads it anew";
  live();
  EXPECT_THAT(store_.there, ElementsAre(1)) << "also behind a restart";
  ASSERT_TRUE(happens("c1", done.kind, done.body));
  EXPECT_THAT(store_.there, IsEmpty());
}

// `sickbay requeue` needs it.
TEST_F(SubmissionsTest, StayForADayWhereTheCaseMayBeAskedForFurtherRuns) {
  const auto end_as = [this](std::int64_t no, const char* cause) {
    ASSERT_TRUE(store_.save(no, {}));
    const std::string name = case_name(no);
    JobInfo job;
    job.job_id = static_cast<JobId>(100 + no);
    job.uid = 1;
    job.state = "FAILED";
    job.nodes = "n1";
    job.exit_code = 1;
    ASSERT_TRUE(happens(name, identify::kCaseOpened,
                        Json::object({{"owner", Owner{"alice", 1, 1}.to_json()},
                                      {"options", Json::object({{"rerun", "copy"}})}})));
    ASSERT_TRUE(
        happens(name, identify::kJobBound, Json::object({{"run", name + ".r1"}, {"job_id", job.job_id}})));
    ASSERT_TRUE(happens(name, kJobSeen, Json::object({{"run", name + ".r1"}, {"job", job.to_json()}})));
    ASSERT_TRUE(happens(name, kVerdict, Json::object({{"cause", cause}, {"final", true}})));
    ASSERT_TRUE(close(no));
  };
  live();
  end_as(1, "non_deterministic"), end_as(2, "a"), end_as(3, "inconclusive");
  EXPECT_THAT(store_.there, ElementsAre(1, 3));
  pass(hours(23));
  EXPECT_THAT(store_.there, ElementsAre(1, 3));
  pass(hours(1));
  EXPECT_THAT(store_.there, IsEmpty());
}

// A job that was put back into the queue is looked after by another case, whose runs are of the same.
TEST_F(SubmissionsTest, StayWhileTheJobGoesOnInAnotherCase) {
  const Json owner = Owner{"alice", 1, 1}.to_json(), options = Json::object({{"recover", true}});
  live();
  for (const std::int64_t no : {1, 2}) {
    ASSERT_TRUE(store_.save(no, {}));
    ASSERT_TRUE(happens(case_name(no), identify::kCaseOpened,
                        Json::object({{"owner", owner}, {"options", options}})));
  }
  ASSERT_TRUE(happens("c1", kVerdict,
                      Json::object({{"cause", "b"}, {"final", true}, {"nodes", Json::array({"n2"})}})));
  ASSERT_TRUE(happens("c2", kVerdict, Json::object({{"cause", "a"}, {"final", true}})));
  ASSERT_TRUE(close(1));
  ASSERT_TRUE(close(2));
  EXPECT_THAT(store_.there, ElementsAre(1)) << "c2's job is left as it ended";
  ASSERT_TRUE(happens("c3", identify::kCaseOpened,
                      Json::object({{"owner", owner},
                                    {"options", options},
                                    {"resumes", "c1"},
                                    {"submission_of", "c1"},
                                    {"job_id", 17},
                                    {"restart_cnt", 1}})));
  pass(hours(48));
  EXPECT_THAT(store_.there, ElementsAre(1));
  live();
  EXPECT_THAT(store_.there, ElementsAre(1)) << "also behind a restart";
  ASSERT_TRUE(close(3));
  pass(hours(23));
  EXPECT_THAT(store_.there, ElementsAre(1)) << "it may go back once more";
  pass(hours(2));
  EXPECT_THAT(store_.there, IsEmpty());
}

TEST_F(SubmissionsTest, StayAsLongAsTheConfigurationSays) {
  config_.keep_submission = hours(48);
  live();
  open(1), open(2);
  ASSERT_TRUE(close(1));
  pass(hours(24));
  ASSERT_TRUE(close(2));
  ASSERT_TRUE(happens("c1", "note"));  // something said of a closed case changes nothing
  EXPECT_THAT(store_.there, ElementsAre(1, 2));
  live();  // and the time runs on while sickbayd is away
  EXPECT_EQ(life_->swept, 0U);
  pass(hours(24));
  EXPECT_THAT(store_.there, ElementsAre(2));
  life_.reset();
  pass(hours(24));
  live();
  EXPECT_EQ(life_->swept, 1U);
  EXPECT_THAT(store_.there, IsEmpty());
}

TEST_F(SubmissionsTest, GoInTheOrderOfTheirCasesEndsNotOfTheirNumbers) {
  config_.keep_submission = hours(48);
  live();
  open(1), open(2);
  ASSERT_TRUE(close(2));
  pass(hours(24));
  ASSERT_TRUE(close(1));
  live();  // the sweep comes by c1 first, whose time is up last
  pass(hours(24));
  EXPECT_THAT(store_.there, ElementsAre(1)) << "c2's time is up";
  pass(hours(24));
  EXPECT_THAT(store_.there, IsEmpty());
}

TEST_F(SubmissionsTest, TheStartSweepsWhatNoCaseNeeds) {
  live();
  open(1), open(2);
  ASSERT_TRUE(close(2));
  life_.reset();
  store_.there = {1, 2, 9};  // a power cut undid a removal, and c9 never came into the journal
  live();
  EXPECT_EQ(life_->swept, 2U);
  EXPECT_THAT(store_.there, ElementsAre(1));
}

TEST_F(SubmissionsTest, AFullDiskRemovesNothing) {
  live();
  open(1);
  journal_.set_full(true);
  EXPECT_FALSE(close(1));
  EXPECT_THAT(store_.there, ElementsAre(1)) << "the end is not durable";
  journal_.set_full(false);
  pass(seconds(3));
  EXPECT_THAT(store_.there, IsEmpty());
}

TEST_F(SubmissionsTest, WhatCannotBeRemovedIsTold) {
  live();
  open(1);
  store_.broken = true;
  ASSERT_TRUE(close(1));
  ASSERT_EQ(life_->complaints.size(), 1U);
  EXPECT_THAT(life_->complaints[0], testing::HasSubstr("c1"));
  live();
  EXPECT_EQ(life_->complaints.size(), 1U) << "the list";
  store_.broken = false;
  live();
  EXPECT_THAT(store_.there, IsEmpty()) << "tried again at each start";
}

}  // namespace
}  // namespace sickbay
