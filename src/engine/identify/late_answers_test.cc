// SPDX-License-Identifier: Apache-2.0
// What is learned of a run after it was over: its end while nobody looked, and what its output says.
#include "engine/identify/rerun_test_world.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

using std::chrono::hours;

// sickbayd was away while the second run waited, ran and failed.  When it is back the time of the case is
// over, and it cancels what it thinks is waiting still.
TEST(LateAnswers, ARunThatWasOverWhenItWasCancelledKeepsItsOutcome) {
  RerunWorld w;
  w.silent = {std::string(verb::kRelease)};
  w.fail_job(1);
  w.settle(hours(1));
  ASSERT_EQ(w.c().programs.size(), 2u);
  ASSERT_EQ(w.c().programs[1].outcome, Outcome::pending);
  w.now += hours(72);
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kCancel) return std::nullopt;
    return Json::object({{"cancelled", false}});
  };
  w.settle(hours(1));
  EXPECT_EQ(w.count(".r2.a1:cancel"), 1);
  EXPECT_FALSE(w.c().verdict && w.c().verdict->final) << "before accounting has told how its runs ended";
  w.see({1, RunKind::program, 2}, w.c().programs[1].job.job_id, "FAILED", {"n3", "n4"});
  const auto verifications = w.c().verifications;
  for (const auto& v : verifications) {
    if (!ended(v.outcome)) w.see(v.id, v.job.job_id, "COMPLETED", v.nodes);
  }
  w.settle();
  EXPECT_EQ(w.c().programs[1].outcome, Outcome::failed);
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
  w.expect_same_after_replay();
}

// It was noted among the failures of its kind, and would have stayed there for good.
TEST(LateAnswers, AFailureThatWasALackOfMemoryIsOfNoKind) {
  RerunWorld w;
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kReadOutput) return std::nullopt;
    return Json::object({{"trace", Json::object({{"message", "oom-kill"}, {"out_of_memory", true}})},
                         {"results", Json::array()}});
  };
  w.fail_job(1, "n[1-2]", "same", Json::object({{"script_digest", "d1"}}));
  EXPECT_EQ(w.state.alike.size(), 1u);
  w.settle();
  EXPECT_EQ(w.c().verdict->cause, Cause::out_of_memory);
  EXPECT_EQ(w.state.alike.size(), 0u);
  w.expect_same_after_replay();
}

}  // namespace
}  // namespace sickbay::identify
