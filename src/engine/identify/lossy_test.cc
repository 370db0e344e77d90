// SPDX-License-Identifier: Apache-2.0
// A job whose network lost packets: what it is told, and that nobody is blamed for it.
#include "engine/identify/lossy.h"

#include <gmock/gmock.h>

#include "engine/identify/case_view.h"
#include "engine/identify/watched_run_test_parts.h"

namespace sickbay::identify {
namespace {

using namespace std::chrono_literals;
using testing::Contains;

// alice's job on n1 and n2.
class LossyTest : public WatchedRunTest {
 protected:
  LossyTest() { opens(Json::object()); }
  void lossy(const char* node, std::int64_t lost = 3506, std::int64_t echoes_lost = 0, JobId job = 100) {
    event(kLossySeen, Json::object({{"run", "c1.r1"},
                                    {"job_id", job},
                                    {"node", node},
                                    {"nodes", std::vector<std::string>{"n1", "n2"}},
                                    {"seconds", 50},
                                    {"sent", 314192},
                                    {"lost", lost},
                                    {"others_sent", 587528},
                                    {"others_lost", 1},
                                    {"echoes", echoes_lost > 0 ? 4000 : 0},
                                    {"echoes_lost", echoes_lost}}));
  }
  void starved(const char* node) {
    event(kStarvedSeen, Json::object({{"run", "c1.r1"},
                                      {"job_id", 100},
                                      {"node", node},
                                      {"process", "sp"},
                                      {"seconds", 30},
                                      {"waited_permille", 273},
                                      {"others_permille", 13},
                                      {"apart", true}}));
  }
  // It runs into its limit, completes elsewhere, and V finds nothing.
  void fails() {
    see("TIMEOUT", 60s);
    Case& c = state_.cases.at(1);
    c.programs.front().output_read = true;
    identify::Run r2 = c.programs.front();
    r2.id = {1, RunKind::program, 2};
    r2.outcome = Outcome::ok;
    r2.nodes = {"n3", "n4"};
    r2.lossy.reset();
    c.programs.push_back(r2);
    c.verifications.push_back(passed());
  }
  Verdict judged() const { return WatchedRunTest::judged(state_.cases.at(1)); }
};

TEST_F(LossyTest, AJobThatCompletedIsToldWhoseLinkHeldItUp) {
  lossy("n2", 3506, 41);
  see("COMPLETED", 60s);
  const Verdict v = judged();
  EXPECT_EQ(v.rule, "ok");
  EXPECT_EQ(v.cause, Cause::normal);
  EXPECT_EQ(v.sentence,
            "The job completed, held up: 1.1 % of 314192 TCP segments were lost on the link of n2, elsewhere "
            "0.0 %; "
            "so were 41 of 4000 packets between it and hosts outside the job.");
  EXPECT_THAT(v.nodes, testing::IsEmpty()) << "nobody is blamed for a job that completed";
  EXPECT_TRUE(!v.faulty || v.faulty->empty());
}

TEST_F(LossyTest, WhereItCannotBeToldWhoseNobodyIsNamed) {
  lossy("");
  see("COMPLETED", 60s);
  EXPECT_EQ(judged().sentence,
            "The job completed, held up: 1.1 % of 314192 TCP segments were lost between n1 and n2, elsewhere "
            "0.0 %; on "
            "whose link could not be told.");
  const Json view = case_view(state_.cases.at(1));
  for (const Json& row : view["evidence"].items()) EXPECT_EQ(row["side"].as_string(), "told");
  EXPECT_EQ(view["runs"].items().at(0)["lossy"]["nodes"].size(), 2u);
}

TEST_F(LossyTest, WhatWaitedForAProcessorIsToldFirst) {
  lossy("n2");
  starved("n1");
  see("COMPLETED", 60s);
  EXPECT_THAT(judged().sentence, testing::HasSubstr("sp waited 27 % of 30 s for a processor on n1"));
}

// The network of a failed job: a line of why, and not another verdict.
TEST_F(LossyTest, OfAFailedJobItIsEvidenceOnly) {
  const auto story = events_;
  fails();
  const Verdict before = judged();
  state_ = {};
  cluster_ = {};
  for (const Event& e : story) event(e.kind, e.body);
  lossy("n2");
  fails();
  const Verdict after = judged();
  EXPECT_EQ(before.rule, "P6");
  EXPECT_EQ(after.rule, before.rule);
  EXPECT_EQ(after.cause, before.cause);
  EXPECT_EQ(after.confidence, before.confidence);
  EXPECT_EQ(after.nodes, before.nodes);
  EXPECT_EQ(after.sentence, before.sentence);
  EXPECT_TRUE(!after.faulty || after.faulty->empty());
  EXPECT_THAT(after.why,
              Contains("c1.r1: 1.1 % of 314192 TCP segments were lost on the link of n2, elsewhere 0.0 %"));
}

TEST_F(LossyTest, TheLastWordCounts) {
  lossy("", 600);
  lossy("n2", 3506, 41);
  ASSERT_TRUE(r1().lossy);
  EXPECT_EQ(r1().lossy->node, "n2");
  EXPECT_EQ(r1().lossy->lost, 3506);
}

TEST_F(LossyTest, WordsOnOtherRunsAreNone) {
  lossy("n2", 3506, 0, 101);
  EXPECT_FALSE(r1().lossy) << "another job";
  lossy("n2");
  see("RUNNING", 0s, 1);  // Slurm runs it again
  EXPECT_FALSE(r1().lossy);
  see("TIMEOUT", 60s, 1);
  lossy("n2");
  EXPECT_FALSE(r1().lossy) << "it has ended";
}

TEST_F(LossyTest, AnythingElseInItIsTaken) {
  event(kLossySeen, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
  event(kLossySeen, Json());
  event(kLossySeen, Json::object({{"run", "c1.r1"}, {"job_id", 100}, {"sent", 5}, {"lost", 5}}));
  EXPECT_FALSE(r1().lossy) << "of nobody";
  event(
      kLossySeen,
      Json::object(
          {{"run", "c1.r1"}, {"job_id", 100}, {"node", "n2"}, {"sent", 5}, {"lost", 900}, {"seconds", -1}}));
  ASSERT_TRUE(r1().lossy);
  EXPECT_EQ(r1().lossy->lost, 5) << "nobody loses more than was sent";
  State again;
  cluster::Cluster seen;
  for (const Event& e : events_) {
    cluster::apply(seen, e);
    apply(again, seen.view, e);
  }
  EXPECT_EQ(canonical_text(again), canonical_text(state_));
}

}  // namespace
}  // namespace sickbay::identify
