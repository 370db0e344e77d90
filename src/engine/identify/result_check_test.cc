// SPDX-License-Identifier: Apache-2.0
// The user's own --check of a result: bounded, and left alone where it judges what the user waits for.
#include "engine/identify/rerun_test_world.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

using std::chrono::hours;
using testing::Contains;
using testing::HasSubstr;

Json with_check(bool deliver) {
  return Json::object(
      {{"options", Json::object({{"rerun", "same"}, {"deliver", deliver}, {"check", "./good"}})}});
}

// Slurm may have no node for it for ever, and its case would stay open as long.
TEST(ResultCheck, OneThatNeverStartsIsGivenUp) {
  RerunWorld w;
  w.program = [](const RunId& run, const Names&) {
    return run.kind == RunKind::check ? "PENDING" : "COMPLETED";
  };
  w.fail_job(1, "n[1-2]", "same", with_check(false));
  w.settle();
  EXPECT_EQ(w.count(".k1.a1:submit"), 1);
  EXPECT_EQ(w.count(".k1.a1:cancel"), 1);
  ASSERT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.c().verdict->cause, Cause::normal);
  EXPECT_THAT(w.c().notes, Contains(HasSubstr("its result is taken as good")));
  w.expect_same_after_replay();
}

// The run elsewhere is the user's result only when his check says so: the verdict must not end the check.
TEST(ResultCheck, OfTheResultThatIsDeliveredComesToItsEnd) {
  RerunWorld w;
  w.bad = {"n1"};
  // The verdict stands before the run elsewhere is over: the output names the node that V convicts.
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kReadOutput || command.args["run"].as_string() != "c1.r1") return std::nullopt;
    return Json::object(
        {{"trace", Json::object({{"signal", 7}, {"node", "n1"}})}, {"results", Json::array()}});
  };
  w.program = [](const RunId& run, const Names&) {
    if (run.kind == RunKind::check) return "RUNNING";
    return run.n == 1 ? "FAILED" : "COMPLETED";
  };
  w.fail_job(1, "n[1-2]", "same", with_check(true));
  w.settle(hours(1));
  ASSERT_TRUE(w.c().verdict && w.c().verdict->final);
  EXPECT_EQ(w.c().verdict->cause, Cause::node);
  EXPECT_EQ(w.count(".k1.a1:submit"), 1);
  EXPECT_EQ(w.count(".k1.a1:cancel"), 0);
  EXPECT_FALSE(w.c().is_closed());
  w.see({1, RunKind::check, 1}, w.c().result_checks.front().job.job_id, "COMPLETED", {"n3"});
  w.settle();
  EXPECT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.c().programs.at(1).outcome, Outcome::ok);
}

}  // namespace
}  // namespace sickbay::identify
