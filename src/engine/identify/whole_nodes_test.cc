// SPDX-License-Identifier: Apache-2.0
// Which verifications have their nodes to themselves: all combinations of how the first run failed and how
// the second stands.  Whole nodes are taken from everybody, so only where speed may be what is wrong.
#include <array>

#include "engine/identify/rerun_test_world.h"
#include "engine/identify/verdict.h"
#include "engine/identify/verification.h"

namespace sickbay::identify {
namespace {

enum class HangKind : std::uint8_t { none, deadlock, went_on, waits_for, at_its_end, some_at_its_end };

void put_hang(identify::Run& run, HangKind hang) {
  if (hang == HangKind::none) return;
  const bool end = hang == HangKind::at_its_end || hang == HangKind::some_at_its_end;
  Json groups =
      Json::array({Json::object({{"call", end ? "MPI_Finalize" : "MPI_Recv"}, {"standing", "waits"}})});
  if (hang == HangKind::some_at_its_end) groups.push(Json::object({{"call", ""}, {"standing", "ended"}}));
  const bool late = hang == HangKind::waits_for || hang == HangKind::some_at_its_end;
  run.hang = Json::object({{"why", late ? "waits_for" : "deadlock"}, {"groups", std::move(groups)}});
  if (hang == HangKind::went_on) run.hang_over_at = from_unix_seconds(1'800'000'100);
}

struct SecondRun {
  const char* what;
  Outcome outcome;
  Symptom symptom;
  HangKind hang;
};
constexpr auto kSecondRuns = std::to_array<SecondRun>({
    {"runs", Outcome::running, Symptom::none, HangKind::none},
    {"runs, and is in a deadlock", Outcome::running, Symptom::none, HangKind::deadlock},
    {"runs, and came out of one", Outcome::running, Symptom::none, HangKind::went_on},
    {"exits", Outcome::failed, Symptom::abnormal_exit, HangKind::none},
    {"runs into its limit", Outcome::failed, Symptom::stall, HangKind::none},
    {"runs into its limit in a deadlock", Outcome::failed, Symptom::stall, HangKind::deadlock},
    {"runs into its limit in MPI_Finalize", Outcome::failed, Symptom::stall, HangKind::at_its_end},
    {"takes too long", Outcome::failed, Symptom::abnormal_time, HangKind::none},
    {"is wrong", Outcome::failed, Symptom::wrong_result, HangKind::none},
});

TEST(WholeNodes, AreTakenOnlyWhereSpeedMayBeWhatIsWrong) {
  constexpr bool x = true, o = false;
  const struct {
    const char* what;
    Symptom symptom;
    HangKind hang;
    bool v1;
    bool v2[kSecondRuns.size()];  // by kSecondRuns
  } rows[] = {
      {"exits", Symptom::abnormal_exit, HangKind::none, o, {o, o, o, o, o, o, o, o, o}},
      {"its limit", Symptom::stall, HangKind::none, x, {x, o, x, o, x, o, o, x, o}},
      {"its limit, after a deadlock that it came out of",
       Symptom::stall,
       HangKind::went_on,
       x,
       {x, o, x, o, x, o, o, x, o}},
      {"its limit, while some wait for one that computes",
       Symptom::stall,
       HangKind::waits_for,
       x,
       {x, o, x, o, x, o, o, x, o}},
      // Proven to be no matter of speed: nobody's nodes are taken.
      {"a deadlock", Symptom::stall, HangKind::deadlock, o, {o, o, o, o, o, o, o, o, o}},
      {"in MPI_Finalize", Symptom::stall, HangKind::at_its_end, o, {o, o, o, o, o, o, o, o, o}},
      {"in MPI_Finalize, some have ended",
       Symptom::stall,
       HangKind::some_at_its_end,
       o,
       {o, o, o, o, o, o, o, o, o}},
      {"too long", Symptom::abnormal_time, HangKind::none, x, {x, o, x, o, x, o, o, x, o}},
      {"wrong", Symptom::wrong_result, HangKind::none, o, {x, o, x, o, x, o, o, x, o}},
      {"lost a node", Symptom::node_dead, HangKind::none, o, {x, o, x, o, x, o, o, x, o}},
      {"a step failed", Symptom::steps_failed, HangKind::none, o, {x, o, x, o, x, o, o, x, o}},
  };
  for (const auto& row : rows) {
    Case c;
    identify::Run& first = c.programs.emplace_back();
    first.outcome = Outcome::failed;
    first.symptom = row.symptom;
    put_hang(first, row.hang);
    EXPECT_EQ(wants_whole_nodes(c, 1), row.v1) << row.what;
    EXPECT_FALSE(wants_whole_nodes(c, 0)) << "the control run judges nobody's speed";
    for (std::size_t i = 0; i < kSecondRuns.size(); ++i) {
      identify::Run second;
      second.outcome = kSecondRuns[i].outcome;
      second.symptom = kSecondRuns[i].symptom;
      put_hang(second, kSecondRuns[i].hang);
      c.programs.resize(1);
      c.programs.push_back(second);
      EXPECT_EQ(wants_whole_nodes(c, 2), row.v2[i])
          << "first: " << row.what << "; second " << kSecondRuns[i].what;
    }
  }
}

// Seen on foreign programs: the first run was a known deadlock, and V took the nodes of the second for
// itself.
TEST(WholeNodes, AKnownDeadlockTakesNobodysNodes) {
  for (const bool deadlock : {true, false}) {
    RerunWorld w;
    w.program = [&](const RunId& run, const Names&) {
      if (run.n > 1) return std::string("RUNNING");
      if (deadlock)
        w.event("c1", kHangSeen,
                Json::object({{"run", "c1.r1"},
                              {"job_id", 101},
                              {"judgement", Json::object({{"word", "hang"}, {"why", "deadlock"}})}}));
      return std::string("TIMEOUT");
    };
    w.fail_job(1);
    w.settle(std::chrono::hours(1));
    ASSERT_TRUE(w.args_of.contains("c1.v2.a1:submit")) << "beside the second run";
    EXPECT_EQ(w.args_of["c1.v1.a1:submit"]["exclusive"].as_bool(), !deadlock);
    EXPECT_EQ(w.args_of["c1.v2.a1:submit"]["exclusive"].as_bool(), !deadlock);
    w.expect_same_after_replay();
  }
}

}  // namespace
}  // namespace sickbay::identify
