// SPDX-License-Identifier: Apache-2.0
// Identical failures share one experiment, and only those.
#include "engine/identify/join.h"

#include "engine/identify/rerun_test_world.h"

namespace sickbay::identify {
namespace {

using std::chrono::hours;
using testing::Contains;
using testing::HasSubstr;

Json script(const char* digest = "d1") { return Json::object({{"script_digest", digest}}); }

TEST(Join, TwelveIdenticalFailuresCostOneExperiment) {
  RerunWorld w;
  for (int no = 1; no <= 12; ++no) w.fail_job(no, "n[1-2]", "same", script());
  w.settle();
  EXPECT_TRUE(w.state.open.empty());
  EXPECT_EQ(w.count(".r2.a1:submit"), 1);
  EXPECT_EQ(w.count(".v1.a1:submit"), 1);
  for (int no = 2; no <= 12; ++no) {
    EXPECT_EQ(w.c(no).joined, 1);
    EXPECT_EQ(w.c(no).verdict->cause, Cause::program);
    EXPECT_TRUE(w.c(no).verdict->final);
    EXPECT_THAT(w.c(no).verdict->sentence, HasSubstr("The same failure as job 101 (c1)."));
  }
  EXPECT_EQ(w.c(1).followers.size(), 11u);
  w.expect_same_after_replay();
}

TEST(Join, AThousandCostNoMore) {
  RerunWorld w;
  for (int no = 1; no <= 1000; ++no) w.fail_job(no, "n[1-2]", "same", script());
  w.settle();
  EXPECT_TRUE(w.state.open.empty());
  EXPECT_EQ(w.count(":submit"), 3) << "r2, v1 and v2";
  EXPECT_EQ(w.c(1000).verdict->cause, Cause::program);
}

struct JoinRow {
  const char* name;
  std::function<void(RerunWorld&)> first, second;
  bool joins;
};

TEST(Join, OnlyWhatIsTheSame) {
  const auto plain = [](std::int64_t no) {
    return [no](RerunWorld& w) { w.fail_job(no, "n[1-2]", "same", script()); };
  };
  const std::vector<JoinRow> rows = {
      {"the same", plain(1), plain(2), true},
      {"on other nodes", plain(1), [](RerunWorld& w) { w.fail_job(2, "n[5-6]", "same", script()); }, true},
      {"with other numbers in its message", plain(1),
       [](RerunWorld& w) {
         w.message = "error 23: cannot open input";
         w.fail_job(2, "n[1-2]", "same", script());
       },
       true},
      {"another message", plain(1),
       [](RerunWorld& w) {
         w.message = "error 17: cannot open output";
         w.fail_job(2, "n[1-2]", "same", script());
       },
       false},
      {"another script", plain(1), [](RerunWorld& w) { w.fail_job(2, "n[1-2]", "same", script("d2")); },
       false},
      {"a script that nobody knows", [](RerunWorld& w) { w.fail_job(1); },
       [](RerunWorld& w) { w.fail_job(2); }, false},
      {"another size", plain(1), [](RerunWorld& w) { w.fail_job(2, "n[1-3]", "same", script()); }, false},
      {"another user", plain(1),
       [](RerunWorld& w) {
         w.fail_job(2, "n[1-2]", "same", script().set("owner", Owner{"bob", 60002, 60002}.to_json()));
       },
       false},
      {"another folder", plain(1),
       [](RerunWorld& w) { w.fail_job(2, "n[1-2]", "same", script().set("work_dir", "/home/alice/other")); },
       false},
      {"another input", plain(1),
       [](RerunWorld& w) {
         w.fail_job(2, "n[1-2]", "same",
                    script().set("inputs", Json::array({Json::object({{"path", "a"}, {"digest", "x"}})})));
       },
       false},
      {"another end", plain(1),
       [](RerunWorld& w) {
         w.program = [](const RunId& run, const Names&) { return run.case_no == 2 ? "TIMEOUT" : "FAILED"; };
         w.fail_job(2, "n[1-2]", "same", script());
       },
       false},
      {"wanted elsewhere by its user", plain(1),
       [](RerunWorld& w) {
         w.fail_job(2, "n[1-2]", "same",
                    script().set("options", Json::object({{"rerun", "same"}, {"deliver", true}})));
       },
       false},
      {"of the day before yesterday",
       [](RerunWorld& w) {
         w.fail_job(1, "n[1-2]", "same", script());
         w.settle(hours(1));
         w.now += hours(25);
       },
       plain(2), false},
      {"decided an hour ago",
       [](RerunWorld& w) {
         w.fail_job(1, "n[1-2]", "same", script());
         w.settle(hours(1));
         w.now += hours(1);
       },
       plain(2), true},
  };
  for (const JoinRow& row : rows) {
    SCOPED_TRACE(row.name);
    RerunWorld w;
    row.first(w);
    // The first is read before the second speaks: one message at a time in this world.
    for (int i = 0; i < 2 && !w.c(1).programs.front().output_read; ++i) w.settle(std::chrono::seconds(1));
    row.second(w);
    w.settle();
    EXPECT_EQ(w.c(2).joined != 0, row.joins);
    EXPECT_TRUE(w.c(2).is_closed());
    EXPECT_EQ(w.count("c2.r2.a1:submit"), row.joins ? 0 : 1);
    w.expect_same_after_replay();
  }
}

TEST(Join, WaitsUntilTheOlderOutputIsRead) {
  RerunWorld w;
  w.silent = {"read_output"};
  w.fail_job(1, "n[1-2]", "same", script());
  w.fail_job(2, "n[1-2]", "same", script());
  w.settle(std::chrono::minutes(1));
  EXPECT_EQ(w.count("c2.r2.a1:submit"), 0);
  EXPECT_EQ(w.c(2).joined, 0);
  for (int no = 1; no <= 2; ++no)
    w.event(case_name(no), kDone,
            Json::object({{"key", case_name(no) + ".r1.a1:output"},
                          {"verb", "read_output"},
                          {"result", Json::object({{"trace", Json::object({{"message", "x"}})}})}}));
  w.settle(std::chrono::minutes(1));
  EXPECT_EQ(w.c(2).joined, 1);
  EXPECT_EQ(w.c(2).verdict->rule, "join");
  EXPECT_FALSE(w.c(2).verdict->final);
}

TEST(Join, ABlamedNodeIsTheCauseOnlyOfJobsThatRanOnIt) {
  RerunWorld w;
  w.bad = {"n1"};
  w.program = [](const RunId& run, const Names& nodes) {
    return run.n == 1 || has_host(nodes, "n1") ? "FAILED" : "COMPLETED";
  };
  w.fail_job(1, "n[1-2]", "same", script());
  w.fail_job(2, "n[1,3]", "same", script());
  w.fail_job(3, "n[4-5]", "same", script());
  w.fail_job(4, "n[4-5]", "same", script());
  w.settle();
  EXPECT_TRUE(w.state.open.empty());
  EXPECT_EQ(w.c(1).verdict->cause, Cause::node);
  EXPECT_EQ(w.c(2).verdict->cause, Cause::node);
  EXPECT_EQ(w.c(2).verdict->nodes, Names{"n1"});
  EXPECT_EQ(w.count("c2.r2.a1:submit"), 0);
  // The third found out for itself, and the fourth with it.
  EXPECT_EQ(w.c(3).joined, 0);
  EXPECT_THAT(w.c(3).notes,
              Contains(HasSubstr("did not stay with c1: c1 blames n1, where this job did not run")));
  EXPECT_EQ(w.count("c3.r2.a1:submit"), 1);
  EXPECT_EQ(w.c(3).verdict->cause, Cause::non_deterministic);
  EXPECT_EQ(w.c(4).joined, 3);
  EXPECT_EQ(w.count("c4.r2.a1:submit"), 0);
  w.expect_same_after_replay();
}

TEST(Join, OneMoreFailureOfAKindThatNobodyCanExplainIsToldAsSuch) {
  RerunWorld w;
  w.program = [](const RunId& run, const Names&) { return run.n == 1 ? "FAILED" : "COMPLETED"; };
  w.fail_job(1, "n[1-2]", "same", script());
  w.fail_job(2, "n[1-2]", "same", script());
  w.settle();
  EXPECT_EQ(w.c(2).verdict->cause, Cause::non_deterministic);
  EXPECT_THAT(w.c(2).verdict->why, Contains(HasSubstr("a further failure of that kind: 2 so far")));
}

TEST(Join, WhereTheLeaderIsCancelledTheNextOneLeads) {
  RerunWorld w;
  w.silent = {"find_dependents"};  // so that the experiment stands still
  for (int no = 1; no <= 3; ++no) w.fail_job(no, "n[1-2]", "same", script());
  w.settle(hours(1));
  EXPECT_EQ(w.c(3).joined, 1);
  w.event("c1", kCancelRequested, Json::object({{"by", "alice"}}));
  w.silent.clear();
  w.settle();
  EXPECT_EQ(w.c(1).verdict->cause, Cause::cancelled);
  EXPECT_EQ(w.c(2).verdict->cause, Cause::program);
  EXPECT_EQ(w.c(3).joined, 2);
  EXPECT_EQ(w.count(".r2.a1:submit"), 1);
}

TEST(Join, AnUndecidedExperimentThatIsOverIsMadeAgain) {
  RerunWorld w;
  w.fail_job(1, "n[1-2]", "never", script());
  w.settle();
  ASSERT_EQ(w.c(1).verdict->cause, Cause::inconclusive);
  w.fail_job(2, "n[1-2]", "same", script());
  w.settle();
  EXPECT_EQ(w.c(2).verdict->cause, Cause::program);
}

// Who repaired a node wants to be told that it is broken again, not that it was.
TEST(Join, ABlameHoldsOnlyForWhatFailedBeforeItWasSaid) {
  RerunWorld w;
  w.bad = {"n1"};
  w.program = [&](const RunId& run, const Names& nodes) {
    return run.n == 1 || (w.bad.contains("n1") && has_host(nodes, "n1")) ? "FAILED" : "COMPLETED";
  };
  w.fail_job(1, "n[1-2]", "same", script());
  w.settle(hours(1));
  ASSERT_EQ(w.c(1).verdict->cause, Cause::node);
  ASSERT_TRUE(w.c(1).is_closed());

  // Of a case that failed while the first was open, and is read only now.
  const TimePoint later = w.c(1).closed + hours(1);
  w.now = w.c(1).closed - std::chrono::seconds(1);
  w.fail_job(3, "n[1-2]", "same", script());
  w.now = later;
  const auto may_join = [&] {
    return leader_for({w.cluster.view, w.state, w.policy, w.now}, w.c(3)).unknown_yet;
  };
  EXPECT_TRUE(may_join());
  w.state.records["n1"].passed_at = w.c(1).closed + std::chrono::minutes(1);
  EXPECT_FALSE(may_join()) << "V has passed there since";
  w.event("c3", kCancelRequested, Json::object({{"by", "alice"}}));

  w.bad.clear();
  w.fail_job(2, "n[1-2]", "same", script());
  w.settle(hours(1));
  EXPECT_EQ(w.c(2).joined, 0);
  EXPECT_EQ(w.count("c2.r2.a1:submit"), 1);
  EXPECT_NE(w.c(2).verdict->cause, Cause::node);
}

TEST(Join, WhoWantsARerunDoesNotFollowOneThatHasNone) {
  for (const char* way : {"never", "ask"}) {
    SCOPED_TRACE(way);
    RerunWorld w;
    w.fail_job(1, "n[1-2]", way, script());
    w.fail_job(2, "n[1-2]", "same", script());
    w.fail_job(3, "n[1-2]", way, script());
    w.settle(hours(1));
    EXPECT_EQ(w.c(2).joined, 0);
    EXPECT_EQ(w.c(3).joined, 1) << "it wants no other than its leader";
    EXPECT_EQ(w.count("c2.r2.a1:submit"), 1);
    EXPECT_EQ(w.c(2).verdict->cause, Cause::program);
  }
}

TEST(Join, AnAnswerToAFollowerIsItsOwn) {
  RerunWorld w;
  for (int no = 1; no <= 2; ++no) w.fail_job(no, "n[1-2]", "ask", script());
  w.settle(hours(1));
  ASSERT_EQ(w.c(2).joined, 1);
  w.answer_rerun(2, "same");
  w.settle(hours(1));
  EXPECT_EQ(w.c(2).joined, 0);
  EXPECT_EQ(w.count("c2.r2.a1:submit"), 1);
  EXPECT_EQ(w.c(2).verdict->cause, Cause::program);
  EXPECT_TRUE(w.c(1).reruns.asking);
  w.expect_same_after_replay();
}

TEST(Join, AFollowerWhoseOwnNodeDiesGoesItsOwnWay) {
  RerunWorld w;
  w.silent = {"find_dependents"};
  w.fail_job(1, "n[5-6]", "same", script());
  w.fail_job(2, "n[1-2]", "same", script());
  w.settle(std::chrono::minutes(1));
  ASSERT_EQ(w.c(2).joined, 1);
  w.event("cluster", kNodesSeen,
          Json::object({{"groups", Json::array({Json::object({{"nodes", "n2"},
                                                              {"state", "DOWN"},
                                                              {"usable", false},
                                                              {"down", true},
                                                              {"partitions", Names{"main"}}})})}}));
  ASSERT_EQ(w.c(2).programs.front().down_nodes, Names{"n2"});
  w.settle(std::chrono::minutes(1));
  EXPECT_EQ(w.c(2).joined, 0);
  EXPECT_THAT(w.c(2).notes, Contains(HasSubstr("n2 went down under this job")));
}

TEST(Join, WhoLeavesHasItsTimeFromThenOn) {
  RerunWorld w;
  w.silent = {"find_dependents"};
  for (int no = 1; no <= 2; ++no) w.fail_job(no, "n[1-2]", "same", script());
  w.settle(hours(1));
  ASSERT_EQ(w.c(2).joined, 1);
  w.now += w.policy.case_limit + hours(1);
  w.event("c1", kCancelRequested, Json::object({{"by", "alice"}}));
  w.silent.clear();
  w.settle();
  EXPECT_EQ(w.c(2).joined, 0);
  EXPECT_EQ(w.c(2).verdict->cause, Cause::program);
  w.expect_same_after_replay();
}

TEST(Join, TellsWhoMustBeLookedAtAgain) {
  RerunWorld w;
  w.silent = {"find_dependents"};
  for (int no = 1; no <= 2; ++no) w.fail_job(no, "n[1-2]", "same", script());
  w.settle(hours(1));
  Event event;
  event.subject = "c1";
  event.kind = kVerdict;
  EXPECT_EQ(waiting_for(w.state, event), std::set<std::int64_t>{2});
  event.kind = kJobSeen;
  EXPECT_TRUE(waiting_for(w.state, event).empty());
  event.kind = kVerdict;
  event.subject = "c2";
  EXPECT_TRUE(waiting_for(w.state, event).empty());
}

TEST(Join, AnArchivedCaseLeadsNobody) {
  RerunWorld w;
  w.fail_job(1, "n[1-2]", "same", script());
  w.settle();
  w.event("c1", kArchived, Json::object());
  EXPECT_TRUE(w.state.alike.empty());
  w.fail_job(2, "n[1-2]", "same", script());
  w.settle();
  EXPECT_EQ(w.c(2).joined, 0);
  EXPECT_EQ(w.c(2).verdict->cause, Cause::program);
}

TEST(Join, NumbersDoNotTellTwoMessagesApart) {
  EXPECT_EQ(without_numbers("rank 12 on n3: bad address 0x7fFe12a0 at 17.5s"),
            "rank # on n#: bad address # at #.#s");
  EXPECT_EQ(without_numbers(""), "");
  EXPECT_EQ(without_numbers("0"), "#");
}

}  // namespace
}  // namespace sickbay::identify
