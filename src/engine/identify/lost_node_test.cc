// SPDX-License-Identifier: Apache-2.0
// A program that notices that a node is gone before Slurm does: nothing is concluded until Slurm has said
// what became of the node, and no other node, and nobody's DOWN but Slurm's, counts.
#include "engine/identify/rerun_test_world.h"
#include "engine/identify/resume.h"
#include "engine/identify/suspects.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// A job of n1 and n2, with --recover, and what Slurm shows of n2.
class LostNodeWorld : public RerunWorld {
 public:
  void shows(const std::string& slurm_state, const std::string& reason = "") {
    Json group = Json::object({{"nodes", "n2"},
                               {"state", slurm_state},
                               {"usable", slurm_state == "IDLE"},
                               {"down", slurm_state.starts_with("DOWN")},
                               {"partitions", Names{"main"}}});
    if (!reason.empty()) group.set("reason", reason).set("reason_uid", 0);
    event("cluster", kNodesSeen, Json::object({{"groups", Json::array({std::move(group)})}}));
  }
  void goes_silent() { shows("IDLE+NOT_RESPONDING"); }
  void slurm_gives_it_up() { shows("DOWN+NOT_RESPONDING", "Not responding"); }
  void fails(const std::string& second_ends) {
    program = [second_ends](const RunId& run, const Names&) {
      return run.n == 1 ? std::string("FAILED") : second_ends;
    };
    fail_job(1, "n[1-2]", "same",
             Json::object({{"options", Json::object({{"rerun", "same"}, {"recover", true}})}}));
  }
  bool is_final() const { return c().verdict && c().verdict->final; }
  std::string rule() const { return c().verdict ? c().verdict->rule : ""; }
};

TEST(LostNode, TheCaseWaitsForSlurmsWord) {
  struct Row {
    const char* second;     // how the second run ends
    const char* before;     // the table's row while Slurm has not spoken
    const char* when_down;  // and when it has given n2 up
    Names nodes, lost;
    const char* sentence;
  };
  const std::vector<Row> rows = {
      {"COMPLETED", "U10", "D1", {"n2"}, {}, "Node n2 is the cause, not the program."},
      // A lost node or the program: which, nobody knows.  Slurm's requeue would have put the job back.
      {"FAILED", "U1", "D9", {}, {"n2"}, "Not decided: it lost a node, but it fails on good nodes, too."},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.second);
    LostNodeWorld w;
    w.goes_silent();
    w.fails(row.second);
    w.settle(seconds(300));
    EXPECT_EQ(w.rule(), row.before);
    EXPECT_FALSE(w.is_final());
    EXPECT_FALSE(w.c().is_closed());
    if (w.rule() == "U1") {
      EXPECT_THAT(w.c().verdict->missing,
                  Contains(HasSubstr("whether n2, which does not answer Slurm, is lost")));
    }
    w.slurm_gives_it_up();
    w.settle();
    EXPECT_EQ(w.rule(), row.when_down);
    EXPECT_TRUE(w.is_final());
    EXPECT_EQ(w.c().verdict->nodes, row.nodes);
    EXPECT_EQ(w.c().verdict->lost, row.lost);
    EXPECT_TRUE(goes_back(w.c(), *w.c().verdict));
    EXPECT_EQ(w.c().verdict->sentence, row.sentence);
    EXPECT_THAT(w.c().verdict->next, Contains(HasSubstr("(--recover), to run without n2")));
    w.expect_same_after_replay();
  }
}

TEST(LostNode, ANodeThatAnswersAgainIsVerifiedAndNotBlamed) {
  LostNodeWorld w;
  w.goes_silent();
  w.fails("FAILED");
  w.settle(seconds(300));
  ASSERT_FALSE(w.is_final());
  w.shows("IDLE");
  w.settle();
  EXPECT_EQ(w.rule(), "P1") << "V has passed on n2, too";
  EXPECT_THAT(w.c().verdict->nodes, IsEmpty());
  EXPECT_THAT(w.c().verdict->lost, IsEmpty());
  EXPECT_FALSE(goes_back(w.c(), *w.c().verdict));
  w.expect_same_after_replay();
}

TEST(LostNode, APersonsDownCountsForNothing) {
  LostNodeWorld w;
  w.goes_silent();
  w.fails("FAILED");
  w.settle(seconds(300));
  w.shows("DOWN+NOT_RESPONDING", "its board is exchanged");
  w.settle();
  EXPECT_EQ(w.rule(), "U1");
  EXPECT_TRUE(w.is_final());
  EXPECT_THAT(w.c().verdict->lost, IsEmpty());
  EXPECT_FALSE(goes_back(w.c(), *w.c().verdict));
}

// SlurmdTimeout=0 sets nobody DOWN: a case does not wait longer than a late DOWN would count.
TEST(LostNode, ItDoesNotWaitForEver) {
  LostNodeWorld w;
  w.goes_silent();
  w.fails("FAILED");
  w.settle(seconds(60));
  w.now = w.c().programs.front().ended_at + kLateDown - seconds(2);
  w.settle(seconds(1));
  EXPECT_FALSE(w.is_final());
  w.settle(seconds(10));
  EXPECT_EQ(w.rule(), "U1");
  EXPECT_TRUE(w.is_final());
}

// V has passed on it after the run: what silences it later is another matter.
TEST(LostNode, ANodeThatFallsSilentAfterVIsNoReasonToWait) {
  LostNodeWorld w;
  w.fails("FAILED");
  w.settle(seconds(300));
  ASSERT_TRUE(w.is_final());
  LostNodeWorld later;
  later.program = [](const RunId& run, const Names&) {
    return std::string(run.n == 1 ? "FAILED" : "RUNNING");
  };
  later.fail_job(1);
  later.settle(seconds(300));
  ASSERT_FALSE(later.is_final());
  later.goes_silent();
  EXPECT_THAT(nodes_in_doubt({later.cluster.view, later.state, later.policy, later.now}, later.c()),
              IsEmpty());
}

// sickbayd was away: it hears of the node before it hears of the job, which it never saw running.
TEST(LostNode, SeenDownBeforeTheEndOfItsJob) {
  LostNodeWorld w;
  w.slurm_gives_it_up();
  w.program = [](const RunId& run, const Names&) { return std::string(run.n == 1 ? "FAILED" : "COMPLETED"); };
  w.open_case();
  w.see({1, RunKind::program, 1}, 101, "FAILED", {"n1", "n2"});
  EXPECT_EQ(w.c().programs.front().down_nodes, Names{"n2"});
  w.settle();
  EXPECT_EQ(w.rule(), "D1");
  w.expect_same_after_replay();
}

// A job that was put back still shows the nodes of the run before while it leaves them.
TEST(LostNode, NodesOfTheRunBeforeAreNotThoseOfTheNext) {
  LostNodeWorld w;
  w.program = [](const RunId&, const Names&) { return std::string("RUNNING"); };
  w.fail_job(1);
  const auto restarted = [&](const std::string& state, const std::string& flag, const std::string& nodes) {
    JobInfo job;
    job.job_id = 101;
    job.uid = 60001;
    job.state = state;
    if (!flag.empty()) job.flags = {flag};
    job.nodes = nodes;
    job.restart_cnt = 1;
    w.event("c1", kJobSeen, Json::object({{"run", "c1.r1"}, {"job", job.to_json()}}));
  };
  restarted("PENDING", "COMPLETING", "n1");
  EXPECT_THAT(w.c().programs.front().nodes, IsEmpty());
  EXPECT_EQ(w.c().programs.front().earlier.front().nodes, (Names{"n1", "n2"}));
  restarted("RUNNING", "", "n[3-4]");
  EXPECT_EQ(w.c().programs.front().nodes, (Names{"n3", "n4"}));
  w.expect_same_after_replay();
}

}  // namespace
}  // namespace sickbay::identify
