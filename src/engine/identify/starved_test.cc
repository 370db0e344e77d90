// SPDX-License-Identifier: Apache-2.0
// A node on which a run's processes waited for a processor: when it is the cause, and when nobody is.
#include "engine/identify/starved.h"

#include <gmock/gmock.h>

#include "engine/identify/case_view.h"
#include "engine/identify/watched_run_test_parts.h"

namespace sickbay::identify {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

// alice's job on n1 and n2 ran for 60 s into its limit, and for 33 s on n3 and n4; V passed on n1 and n2.
class StarvedTest : public WatchedRunTest {
 protected:
  StarvedTest() { begins(); }
  void begins() { opens(Json::object({{"expect_time_s", 45}})); }
  void starved(const char* node, int waited, int stopped = 0, bool apart = true, int others = 10,
               int looked = 60, JobId job = 100) {
    event(kStarvedSeen, Json::object({{"run", "c1.r1"},
                                      {"job_id", job},
                                      {"node", node},
                                      {"process", "sp"},
                                      {"seconds", looked},
                                      {"waited_permille", waited},
                                      {"stopped_permille", stopped},
                                      {"others_permille", others},
                                      {"apart", apart}}));
  }
  // The failed run's end, the good run elsewhere, and V.
  Case& ends(const char* state = "TIMEOUT", std::chrono::seconds lived = 60s) {
    see(state, lived);
    Case& c = state_.cases.at(1);
    identify::Run r2;
    r2.id = {1, RunKind::program, 2};
    r2.outcome = Outcome::ok;
    r2.nodes = {"n3", "n4"};
    r2.job = c.programs.front().job;
    r2.job.state = "COMPLETED";
    r2.job.end = r2.job.start + 33s;
    r2.bound = r2.output_read = true;
    c.programs.push_back(r2);
    c.programs.front().output_read = true;
    c.verifications.push_back(passed());
    return c;
  }
  // And the other nodes are well, too.
  static identify::Run& fails_elsewhere(Case& c) {
    identify::Run& r2 = c.programs[1];
    r2.outcome = Outcome::failed;
    r2.symptom = Symptom::stall;
    r2.job.state = "TIMEOUT";
    identify::Run v2 = c.verifications[0];
    v2.id.n = 2;
    v2.checks = 2;
    v2.nodes = r2.nodes;
    v2.results = {{"n3", "", "ok", ""}, {"n4", "", "ok", ""}};
    c.verifications.push_back(v2);
    return r2;
  }
  static Starved held_up(const char* node, int waited) {
    Starved one;
    one.node = node;
    one.process = "sp";
    one.seen = 60s;
    one.waited = waited;
    return one;
  }
};

TEST_F(StarvedTest, TheNodeIsTheCauseAndIsNotDrained) {
  starved("n2", 480);
  const Verdict v = judged(ends());
  EXPECT_EQ(v.rule, "T1");
  EXPECT_EQ(v.cause, Cause::node);
  EXPECT_EQ(v.confidence, Confidence::medium);
  EXPECT_TRUE(v.final);
  EXPECT_THAT(v.nodes, testing::ElementsAre("n2"));
  EXPECT_EQ(
      v.sentence,
      "Node n2 is the cause, not the program: sp waited 48 % of 60 s for a processor on n2, on the other "
      "nodes 1 %. It may be over by now.");
  EXPECT_THAT(v.why, Contains("c1.r1: sp waited 48 % of 60 s for a processor on n2, on the other nodes 1 %"));
  ASSERT_TRUE(v.faulty);
  ASSERT_EQ(v.faulty->size(), 1u);
  EXPECT_EQ(v.faulty->front().what, "starved");
  EXPECT_FALSE(v.faulty->front().drains);
  EXPECT_THAT(v.next, Contains(HasSubstr("is not drained for it")));
}

TEST_F(StarvedTest, AJobThatTookLongerThanExpectedToo) {
  starved("n2", 300, 0, true, 10, 40);
  EXPECT_EQ(judged(ends("COMPLETED", 47s)).rule, "T1");
}

TEST_F(StarvedTest, OneThatWasStoppedInTurns) {
  starved("n2", 0, 500);
  EXPECT_THAT(judged(ends()).sentence,
              HasSubstr("sp was stopped 50 % of 60 s on n2, on the other nodes 1 %."));
}

TEST_F(StarvedTest, WithoutItNothingChanges) { EXPECT_EQ(judged(ends()).rule, "P6"); }

TEST_F(StarvedTest, WhereAllNodesWaitedNobodyIs) {
  starved("n2", 400, 0, false, 380);
  const Verdict v = judged(ends());
  EXPECT_EQ(v.rule, "P6");
  EXPECT_THAT(v.why, Contains(HasSubstr("that speaks against no node")));
}

TEST_F(StarvedTest, TwoNodesAtOnceAreNoSingleCause) {
  starved("n1", 400);
  starved("n2", 480);
  EXPECT_EQ(judged(ends()).rule, "P6");
}

TEST_F(StarvedTest, AGoodRunThatWasAsStarvedAcquits) {
  starved("n2", 480);
  Case& c = ends();
  c.programs[1].starved = {c.programs[0].starved[0]};
  c.programs[1].starved[0].node = "n3";
  c.programs[1].starved[0].apart = false;
  EXPECT_EQ(judged(c).rule, "P6") << "whether it stood apart from its neighbours or not";
  c.programs[1].starved[0].waited = 150;
  EXPECT_EQ(judged(c).rule, "T1");
}

// Seen on a machine on which all nodes had some other work: 30 % and 15 %, and the run took 14 s longer.
TEST_F(StarvedTest, WhatTheGoodRunLostTooIsTakenOff) {
  starved("n2", 302, 0, true, 66, 30);
  Case& c = ends("COMPLETED", 47s);
  c.programs[1].starved = {c.programs[0].starved[0]};
  Starved& good = c.programs[1].starved[0];
  good.node = "n3", good.seen = 20s, good.apart = false;
  good.waited = 153;
  EXPECT_EQ(judged(c).rule, "T1") << "with as little loss it takes 38.7 s";
  good.waited = 230;
  EXPECT_EQ(judged(c).rule, "P6") << "42.6 s";
  good.waited = 1000;
  EXPECT_EQ(judged(c).rule, "P6");
  // All of 8 hours were not seen: no more counts than would not have been told.
  good.waited = 0;
  c.programs[0].job.end = c.programs[0].job.start + 8h;
  EXPECT_EQ(judged(c).rule, "P6");
}

// Eight hours longer are not explained by a minute.
TEST_F(StarvedTest, WhatDoesNotExplainTheTimeIsNoCause) {
  starved("n2", 480);
  EXPECT_EQ(judged(ends("TIMEOUT", 8h)).rule, "P6");
}

// It hung, and what else ran there took a little of its time: and of 60 s it had a processor for 51.
TEST_F(StarvedTest, ALittleWaitIsNotWhyARunHung) {
  starved("n2", 150);
  Case& c = ends();
  EXPECT_EQ(judged(c).rule, "P6");
  c.programs[0].starved[0].waited = 290;
  EXPECT_EQ(judged(c).rule, "P6") << "it had a processor for 42.6 s, and needs 33";
  c.programs[0].starved[0].waited = 320;
  EXPECT_EQ(judged(c).rule, "T1") << "for 40.8 s";
}

// Seen: MPICH hung in MPI_Finalize, one rank polled on a busy node, and elsewhere the job was over in 4 s.
TEST_F(StarvedTest, WhoHadMoreThanTheGoodRunNeededHung) {
  starved("n2", 870, 0, true, 20, 60);
  Case& c = ends("TIMEOUT", 100s);
  c.programs[1].job.end = c.programs[1].job.start + 4s;
  EXPECT_EQ(judged(c).rule, "P6");
}

TEST_F(StarvedTest, AFailureThatIsNoMatterOfTime) {
  starved("n2", 480);
  EXPECT_EQ(judged(ends("FAILED")).rule, "P6");
}

TEST_F(StarvedTest, ADeadlockIsTheProgramsOwn) {
  starved("n2", 480);
  event(kHangSeen,
        Json::object(
            {{"run", "c1.r1"},
             {"job_id", 100},
             {"judgement", Json::object({{"word", "hang"}, {"why", "deadlock"}, {"text", "all wait"}})}}));
  EXPECT_EQ(judged(ends()).rule, "P6");
}

// Nobody is the cause for being starved here, but the run of two is the same: ranks that all stand in
// MPI_Finalize, or have ended, have done their work.  Whatever the second run comes to, no answer is sure.
TEST_F(StarvedTest, AHangInFinalizeMayBeTheLibrarys) {
  struct Row {
    std::string_view what;
    const char* why;
    const char *call, *standing;  // of the second group; the first is in MPI_Finalize
    int left_out;
    bool at_its_end;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"all in MPI_Finalize", "deadlock", "MPI_Finalize", "waits", 0, true},
           {"the others have ended", "waits_for", "", "ended", 0, true},
           {"one receives", "deadlock", "MPI_Recv", "waits", 0, false},
           {"one computes", "waits_for", "", "computes", 0, false},
           {"one could not be read", "unread", "", "unread", 0, false},
           {"some are not shown", "deadlock", "MPI_Finalize", "waits", 3, false},
       })
    for (const bool again : {true, false}) {
      events_.clear();
      state_ = {};
      cluster_ = {};
      begins();
      Json groups = Json::array({Json::object({{"call", "MPI_Finalize"}, {"standing", "waits"}}),
                                 Json::object({{"call", row.call}, {"standing", row.standing}})});
      event(kHangSeen, Json::object({{"run", "c1.r1"},
                                     {"job_id", 100},
                                     {"judgement", Json::object({{"word", "hang"},
                                                                 {"why", row.why},
                                                                 {"text", "all wait"},
                                                                 {"left_out", row.left_out},
                                                                 {"groups", std::move(groups)}})}}));
      Case& c = ends();
      if (again) fails_elsewhere(c);
      const Verdict v = judged(c);
      EXPECT_EQ(v.rule, again ? "P1" : "P6") << row.what;
      EXPECT_EQ(v.confidence, row.at_its_end ? Confidence::medium : Confidence::high) << row.what;
      EXPECT_EQ(v.sentence.find("its work was done, and the MPI library did not end") != std::string::npos,
                row.at_its_end)
          << row.what << ": " << v.sentence;
      EXPECT_EQ(time_matters(r1()), !row.at_its_end && std::string_view(row.why) != "deadlock") << row.what;
    }
}

// What polls for good asks for its processor for good.
TEST_F(StarvedTest, AStarvedRankOfADeadlockSpeaksAgainstNobody) {
  starved("n2", 860);
  event(kHangSeen,
        Json::object(
            {{"run", "c1.r1"},
             {"job_id", 100},
             {"judgement", Json::object({{"word", "hang"}, {"why", "deadlock"}, {"text", "all wait"}})}}));
  const Case& c = ends();
  EXPECT_THAT(judged(c).why, Contains(testing::EndsWith(": that speaks against no node")));
  const Json view = case_view(c);
  EXPECT_EQ(view["evidence"].items().at(0)["side"].as_string(), "told");
}

TEST_F(StarvedTest, AProgramThatFailsElsewhereInTheSameWay) {
  starved("n2", 480);
  Case& c = ends();
  fails_elsewhere(c);
  const Verdict v = judged(c);
  EXPECT_EQ(v.cause, Cause::program) << v.rule;
  EXPECT_THAT(v.nodes, testing::IsEmpty());
}

// All nodes of both runs were busy with other work: that it is the program is likely, and not more.
TEST_F(StarvedTest, WhereEachFailedRunWaitedTheProgramIsNotSurelyTheCause) {
  struct Row {
    std::string_view what;
    int first, second;  // thousandths; 0: nothing was told
    Symptom symptom;    // of both
    Confidence confidence;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"both waited", 500, 400, Symptom::stall, Confidence::medium},
           {"both waited and were merely slow", 500, 400, Symptom::abnormal_time, Confidence::medium},
           {"the second had its processors", 500, 0, Symptom::stall, Confidence::high},
           {"the first had", 0, 500, Symptom::stall, Confidence::medium},
           {"the first had, and the second waited a little", 0, 300, Symptom::stall, Confidence::high},
           {"none waited", 0, 0, Symptom::stall, Confidence::high},
           {"a crash is no matter of time", 500, 400, Symptom::abnormal_exit, Confidence::high},
       }) {
    SCOPED_TRACE(row.what);
    events_.clear();
    state_ = {};
    cluster_ = {};
    begins();
    if (row.first > 0) starved("n2", row.first, 0, false, row.first);
    Case& c = ends();
    c.programs[0].symptom = row.symptom;
    identify::Run& r2 = fails_elsewhere(c);
    r2.symptom = row.symptom;
    if (row.second > 0) r2.starved = {held_up("n3", row.second)};
    const Verdict v = judged(c);
    EXPECT_EQ(v.rule, "P1");
    EXPECT_EQ(v.cause, Cause::program);
    EXPECT_EQ(v.confidence, row.confidence);
    const bool doubts = v.sentence.find("too busy") != std::string::npos;
    EXPECT_EQ(doubts, row.confidence == Confidence::medium && row.first > 0) << v.sentence;
    EXPECT_EQ(row.confidence == Confidence::medium,
              testing::Value(v.next, Contains(HasSubstr("--exclusive"))));
  }
}

// Seen in a lab at load 17: V finds the node of the first run slow, and the re-run waited 65 % of its time.
TEST_F(StarvedTest, ARerunThatWasHeldUpLeavesANodeThatVConvictsTheCause) {
  struct Row {
    std::string_view what;
    int second;  // thousandths
    Symptom symptom;
    const char* rule;
    Cause cause;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"held up", 650, Symptom::stall, "T3", Cause::node},
           {"merely slow", 340, Symptom::abnormal_time, "T3", Cause::node},
           {"held up a little", 300, Symptom::stall, "G8", Cause::program},
           {"it had its processors", 0, Symptom::stall, "G8", Cause::program},
       }) {
    SCOPED_TRACE(row.what);
    events_.clear();
    state_ = {};
    cluster_ = {};
    begins();
    Case& c = ends();
    c.programs[0].symptom = row.symptom;
    c.verifications[0].results[1] = {"n2", "", "slow", "slow"};
    identify::Run& r2 = fails_elsewhere(c);
    r2.symptom = row.symptom;
    if (row.second > 0) r2.starved = {held_up("n3", row.second)};
    const Verdict v = judged(c);
    EXPECT_EQ(v.rule, row.rule);
    EXPECT_EQ(v.cause, row.cause);
    EXPECT_EQ(v.confidence, Confidence::medium);
    EXPECT_TRUE(v.final);
    if (row.cause == Cause::node) {
      EXPECT_THAT(v.nodes, testing::ElementsAre("n2"));
    }
  }
}

TEST_F(StarvedTest, ARerunOnTheSameNodeProvesNothing) {
  starved("n2", 480);
  Case& c = ends();
  c.programs[1].nodes = {"n2", "n3"};
  EXPECT_EQ(judged(c).rule, "P6");
}

TEST_F(StarvedTest, WhereVCouldNotSayItIsLow) {
  starved("n2", 480);
  Case& c = ends();
  c.verifications[0].results.clear();
  c.verifications[0].outcome = Outcome::not_started;
  const Verdict v = judged(c);
  EXPECT_EQ(v.rule, "T2");
  EXPECT_EQ(v.confidence, Confidence::low);
}

TEST_F(StarvedTest, TheLastWordOnANodeCounts) {
  starved("n2", 200, 0, true, 10, 20);
  starved("n2", 480);
  ASSERT_EQ(r1().starved.size(), 1u);
  EXPECT_EQ(r1().starved[0].waited, 480);
  EXPECT_EQ(r1().starved[0].lost(), 28800ms);
}

TEST_F(StarvedTest, WordsOnOtherRunsAreNone) {
  starved("n2", 480, 0, true, 10, 60, 101);
  EXPECT_TRUE(r1().starved.empty()) << "another job";
  starved("n2", 480);
  see("RUNNING", 0s, 1);  // Slurm runs it again
  EXPECT_TRUE(r1().starved.empty());
  see("TIMEOUT", 60s, 1);
  starved("n2", 480);
  EXPECT_TRUE(r1().starved.empty()) << "it has ended";
}

TEST_F(StarvedTest, AnythingElseInItIsTaken) {
  event(kStarvedSeen, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
  event(kStarvedSeen, Json());
  EXPECT_TRUE(r1().starved.empty());
  for (int i = 0; i < 100; ++i) starved(("n" + std::to_string(i)).c_str(), 5000, -3);
  EXPECT_EQ(r1().starved.size(), 16u);
  EXPECT_EQ(r1().starved[0].lost_permille(), 1000);
  State again;
  cluster::Cluster seen;
  for (const Event& e : events_) {
    cluster::apply(seen, e);
    apply(again, seen.view, e);
  }
  EXPECT_EQ(canonical_text(again), canonical_text(state_));
}

TEST_F(StarvedTest, AJobThatCompletedIsToldWhatHeldItUp) {
  see("RUNNING", 0s);
  starved("n2", 273, 0, true, 13, 30);
  see("COMPLETED", 44s);
  const Verdict v = judged(state_.cases.at(1));
  EXPECT_EQ(v.rule, "ok");
  EXPECT_EQ(
      v.sentence,
      "The job completed, held up: sp waited 27 % of 30 s for a processor on n2, on the other nodes 1 %.");
  EXPECT_THAT(v.nodes, testing::IsEmpty()) << "nobody is blamed for a job that completed";
  EXPECT_TRUE(!v.faulty || v.faulty->empty());
}

TEST_F(StarvedTest, AJobThatWaitedOnTwoNodesWasNotHeldUpByOne) {
  see("RUNNING", 0s);
  starved("n1", 273, 0, true, 13, 30);
  starved("n2", 273, 0, true, 13, 30);
  see("COMPLETED", 44s);
  EXPECT_EQ(judged(state_.cases.at(1)).sentence, "The job completed; nothing to explain.");
}

}  // namespace
}  // namespace sickbay::identify
