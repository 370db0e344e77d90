// SPDX-License-Identifier: Apache-2.0
// Further runs of a failure that does not repeat, from the order to the verdict.
#include "engine/identify/further.h"

#include <algorithm>

#include "engine/identify/rerun_test_world.h"

namespace sickbay::identify {
namespace {

using RunList = std::vector<int>;

bool on(const Names& nodes, const std::string& name) { return std::ranges::find(nodes, name) != nodes.end(); }

// A job that failed once, completed elsewhere, and was closed as non-deterministic.
class FurtherWorld : public RerunWorld {
 public:
  void fail_once(const std::string& nodes = "n[1-2]", const std::string& rerun = "same") {
    fail_job(1, nodes, rerun);
    settle();
    ASSERT_TRUE(c().is_closed());
    ASSERT_EQ(c().verdict->cause, Cause::non_deterministic) << c().verdict->sentence;
  }
  void requeue(int runs = 24, bool rotate = false, double node_hours = 64) {
    const auto refused = refuses_further(c());
    ASSERT_FALSE(refused) << refused->what;
    event("c1", kRequeueAsked, further_order("alice", runs, rotate, node_hours));
    EXPECT_FALSE(c().is_closed());
    EXPECT_FALSE(c().verdict->final);
    settle();
    EXPECT_TRUE(c().is_closed());
    EXPECT_TRUE(c().verdict->final);
  }
  const Verdict& verdict() const { return *c().verdict; }
};

// It fails where all of `names` take part.
auto fails_with(Names names) {
  return [names](const RunId&, const Names& nodes) {
    const bool all = std::ranges::all_of(names, [&](const std::string& n) { return on(nodes, n); });
    return std::string(all ? "FAILED" : "COMPLETED");
  };
}
auto fails_in(RunList runs) {
  return [runs](const RunId& run, const Names&) {
    return std::string(std::ranges::find(runs, run.n) != runs.end() ? "FAILED" : "COMPLETED");
  };
}

TEST(Further, NamesTheNodeThatAllFailuresHave) {
  for (const char* guilty : {"n1", "n2", "n3"}) {
    FurtherWorld w;
    w.program = fails_with({guilty});
    w.fail_once("n[1-3]");
    w.requeue();
    EXPECT_EQ(w.verdict().cause, Cause::sometimes_node) << w.verdict().sentence;
    EXPECT_EQ(w.verdict().rule, "F2");
    EXPECT_EQ(w.verdict().nodes, Names{guilty}) << w.verdict().sentence;
    // Statistics drain nobody.
    for (const Faulty& f : *w.verdict().faulty) EXPECT_FALSE(f.drains);
    w.expect_same_after_replay();
  }
}

TEST(Further, NamesALinkAsALink) {
  FurtherWorld w;
  w.program = fails_with({"n1", "n3"});
  w.fail_once("n[1-3]");
  w.requeue();
  EXPECT_EQ(w.verdict().cause, Cause::sometimes_node) << w.verdict().sentence;
  EXPECT_EQ(w.verdict().rule, "F3") << w.verdict().sentence;
  EXPECT_TRUE(w.verdict().nodes.empty());
  ASSERT_EQ(w.verdict().faulty->size(), 1u);
  EXPECT_EQ(w.verdict().faulty->front().node, "n1");
  EXPECT_EQ(w.verdict().faulty->front().peer, "n3");
}

TEST(Further, NamesTheProgramThatFailsElsewhereToo) {
  FurtherWorld w;
  w.program = fails_in({1, 4});
  w.fail_once();
  w.requeue();
  EXPECT_EQ(w.verdict().cause, Cause::sometimes_program) << w.verdict().sentence;
  EXPECT_EQ(w.verdict().rule, "F1");
  EXPECT_GE(w.verdict().further["program"].as_double(), 0.95);
}

TEST(Further, SpendsItsRunsAndSaysSo) {
  FurtherWorld w;
  w.program = fails_in({1});
  w.fail_once("n[1-2]", "copy");
  w.requeue(3);
  EXPECT_EQ(w.c().programs.size(), 5u);
  EXPECT_EQ(w.verdict().cause, Cause::inconclusive);
  EXPECT_EQ(w.verdict().rule, "F5");
  EXPECT_TRUE(w.verdict().nodes.empty());
  // All shares are told, and what one more run could change.
  const Json& told = w.verdict().further;
  EXPECT_EQ(told["runs"].as_int(), 5);
  EXPECT_EQ(told["failures"].as_int(), 1);
  EXPECT_TRUE(told["next"]["if_failed"].is_string());
  // It may be asked for again, and goes on where it was; its copies go each time.
  w.requeue(2);
  EXPECT_EQ(w.c().programs.size(), 7u);
  EXPECT_EQ(w.c().further->round, 2);
  EXPECT_EQ(w.count(":clean"), 3);
  w.expect_same_after_replay();
}

TEST(Further, KeepsToItsNodeHours) {
  FurtherWorld w;
  w.program = fails_in({1});
  w.fail_once();
  // One run of two nodes may take ten minutes, 0.33 node-hours, and takes ten seconds.
  w.requeue(12, false, 0.3);
  EXPECT_EQ(w.c().programs.size(), 2u);
  EXPECT_EQ(w.verdict().cause, Cause::inconclusive);
  EXPECT_NE(w.verdict().sentence.find("node-hours"), std::string::npos) << w.verdict().sentence;
  w.requeue(12, false, 0.345);
  EXPECT_EQ(w.c().programs.size(), 5u);
}

TEST(Further, VerifiesTheNodesOfEachRun) {
  FurtherWorld w;
  w.program = fails_in({1});
  w.fail_once();
  const std::size_t before = w.c().verifications.size();
  w.requeue(3);
  for (int n = 3; n <= 5; ++n) {
    const identify::Run* v = w.c().check_of(n);
    ASSERT_NE(v, nullptr) << n;
    EXPECT_TRUE(v->output_read) << n;
    EXPECT_EQ(v->nodes, w.c().program(n)->nodes) << n;
  }
  EXPECT_EQ(w.c().verifications.size(), before + 3);
}

TEST(Further, RotatesOverNodesThatNoRunHad) {
  FurtherWorld w;
  w.program = fails_in({1});
  w.fail_once();
  w.requeue(2, true);
  EXPECT_EQ(w.c().program(3)->nodes, (Names{"n5", "n6"}));
  EXPECT_EQ(w.c().program(4)->nodes, (Names{"n7", "n8"}));
}

TEST(Further, IsAskedForAtSubmission) {
  FurtherWorld w;
  w.program = fails_with({"n1"});
  w.fail_job(1, "n[1-2]", "same",
             Json::object({{"options", Json::object({{"rerun", "same"}, {"until_verdict", true}})}}));
  w.settle();
  EXPECT_EQ(w.verdict().cause, Cause::sometimes_node) << w.verdict().sentence;
  EXPECT_EQ(w.verdict().nodes, Names{"n1"});
  EXPECT_EQ(w.c().further->by, kUntilVerdict);
  w.expect_same_after_replay();
}

TEST(Further, ARunThatFailsInAnotherWayDoesNotCount) {
  FurtherWorld w;
  w.program = fails_in({1});
  w.fail_once();
  w.program = [](const RunId& run, const Names&) {
    return std::string(run.n == 3 ? "TIMEOUT" : "COMPLETED");
  };
  w.requeue(2);
  EXPECT_EQ(w.verdict().further["failures"].as_int(), 1) << w.verdict().further.dump();
}

TEST(Further, StopsAtARunWithoutAnOutcome) {
  FurtherWorld w;
  w.program = fails_in({1});
  w.fail_once();
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb == verb::kSubmitProgram)
      return fail(ErrorCode::refused_by_slurm, "sbatch: error: invalid account");
    return std::nullopt;
  };
  w.requeue(12);
  EXPECT_EQ(w.verdict().cause, Cause::inconclusive);
  EXPECT_NE(w.verdict().sentence.find("invalid account"), std::string::npos) << w.verdict().sentence;
}

TEST(Further, EndsWhenACaseIsCancelled) {
  FurtherWorld w;
  w.program = fails_in({1});
  w.fail_once();
  w.program = [](const RunId&, const Names&) { return std::string("RUNNING"); };
  w.event("c1", kRequeueAsked, further_order("alice", 12, false, 64));
  w.settle(std::chrono::seconds(100));
  EXPECT_EQ(w.c().programs.back().outcome, Outcome::running);
  w.event("c1", kCancelRequested, Json::object({{"by", "alice"}}));
  w.settle();
  EXPECT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.c().programs.back().outcome, Outcome::cancelled);
}

TEST(Further, IsRefusedWhereItCouldTellNothing) {
  FurtherWorld completed;
  completed.program = fails_in({});
  completed.fail_job(1);
  completed.settle();
  EXPECT_TRUE(refuses_further(completed.c()));

  FurtherWorld known;  // fails each time, on good nodes: (a)
  known.fail_job(1);
  known.settle();
  ASSERT_EQ(known.verdict().cause, Cause::program);
  EXPECT_TRUE(refuses_further(known.c()));

  FurtherWorld open;
  open.program = [](const RunId& run, const Names&) {
    return std::string(run.n == 1 ? "FAILED" : "RUNNING");
  };
  open.fail_job(1);
  open.settle(std::chrono::seconds(100));
  EXPECT_TRUE(refuses_further(open.c()));

  FurtherWorld never;
  never.program = fails_in({1});
  never.fail_job(1, "n[1-2]", "never");
  never.settle();
  EXPECT_TRUE(refuses_further(never.c()));

  FurtherWorld can;
  can.program = fails_in({1});
  can.fail_once();
  EXPECT_FALSE(refuses_further(can.c()));
}

}  // namespace
}  // namespace sickbay::identify
