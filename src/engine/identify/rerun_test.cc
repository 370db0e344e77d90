// SPDX-License-Identifier: Apache-2.0
// A re-run is harmless or asked for: what holds one, what is asked, and what becomes of the verdict
// meanwhile.
#include "engine/identify/rerun.h"

#include "engine/identify/rerun_test_world.h"

namespace sickbay::identify {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::Contains;
using testing::HasSubstr;

Json holder(JobId id, const char* why = "singleton", const char* state = "PENDING") {
  return Json::object({{"job_id", id}, {"name", "solve"}, {"state", state}, {"why", why}});
}
Json held_by(const Json& job) { return Json::object({{"jobs", Json::array({job})}}); }
Json changed(const char* path, const char* how) {
  return Json::object({{"folder", ""},
                       {"changed", Json::array({Json::object({{"path", path}, {"how", how}})})},
                       {"too_large", false},
                       {"why", ""}});
}
Json inputs() {
  return Json::array(
      {Json::object({{"path", "/home/alice/run/data.in"}, {"digest", "abc"}, {"size", 3}, {"mtime", 5}})});
}

TEST(Rerun, RunsInACopyThatIsGoneWithTheCase) {
  RerunWorld w;
  w.fail_job(1, "n[1-2]", "copy");
  w.settle();
  ASSERT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
  EXPECT_EQ(w.args_of.at("c1.r2.a1:submit")["folder"].as_string(), "/home/alice/copy-c1.r2.a1");
  EXPECT_FALSE(w.args_of.at("c1.r2.a1:submit").has("workdir"));
  const Json& prepare = w.args_of.at("c1.r2.a1:prepare");
  EXPECT_EQ(prepare["how"].as_string(), "copy");
  EXPECT_EQ(prepare["max_bytes"].as_int(), std::int64_t{2} << 30);
  EXPECT_EQ(w.args_of.at("c1:clean")["folders"].as_strings(), Names{"/home/alice/copy-c1.r2.a1"});
  w.expect_same_after_replay();
}

TEST(Rerun, ACaseWhoseCopyIsUnderWayClosesOnlyWithoutIt) {
  RerunWorld w;
  w.silent = {"prepare_rerun"};
  w.fail_job(1, "n[1-2]", "copy");
  w.settle(hours(1));
  w.event("c1", kCancelRequested, Json::object({{"by", "alice"}}));
  w.settle(hours(1));
  EXPECT_FALSE(w.c().is_closed());
  w.event("c1", kDone,
          Json::object({{"key", "c1.r2.a1:prepare"},
                        {"verb", "prepare_rerun"},
                        {"result", Json::object({{"folder", "/copy"}, {"changed", Json::array()}})}}));
  w.settle(hours(1));
  EXPECT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.args_of.at("c1:clean")["folders"].as_strings(), Names{"/copy"});
}

TEST(Rerun, DeliverKeepsTheFolderOfTheResult) {
  RerunWorld w;
  w.bad = {"n1"};
  w.program = [](const RunId& run, const Names&) { return run.n == 1 ? "FAILED" : "COMPLETED"; };
  w.fail_job(1, "n[1-2]", "copy",
             Json::object({{"options", Json::object({{"rerun", "copy"}, {"deliver", true}})}}));
  w.settle();
  ASSERT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.c().verdict->cause, Cause::node);
  EXPECT_EQ(w.count(":clean"), 0);
  EXPECT_EQ(case_view(w.c())["rerun"]["kept"].as_string(), "/home/alice/copy-c1.r2.a1");
}

// The checkpoint of a user's next jobs was rewritten by a re-run.
TEST(Rerun, DependentsHoldItWhileVGoesOn) {
  RerunWorld w;
  int looks = 0;
  w.answer_with = [&](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kFindDependents || ++looks > 10) return std::nullopt;
    return held_by(holder(18));
  };
  w.fail_job(1);
  w.settle(minutes(5));
  EXPECT_EQ(w.count(".v1.a1:submit"), 1);
  EXPECT_EQ(w.count(".r2.a1:submit"), 0);
  ASSERT_TRUE(w.c().verdict);
  EXPECT_EQ(w.c().verdict->rule, "held");
  EXPECT_FALSE(w.c().verdict->final);
  EXPECT_THAT(w.c().verdict->missing, Contains(HasSubstr("job 18 'solve'")));
  EXPECT_EQ(case_summary(w.c())["waits_for"].as_string(), "job 18 'solve'");
  w.settle();
  EXPECT_EQ(looks, 11) << "asked anew each minute, and once more when nobody was left";
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
  w.expect_same_after_replay();
}

TEST(Rerun, HoldersThatDoNotEndAreWaitedForNoLongerThanForNodes) {
  RerunWorld w;
  w.policy.rerun_wait = hours(2);
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kFindDependents) return std::nullopt;
    return held_by(holder(18, "dependency"));
  };
  w.fail_job(1);
  w.settle();
  ASSERT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.count(".r2.a1:submit"), 0);
  EXPECT_LT(w.count(":dependents"), 60) << "who holds it for long is asked about less and less";
  EXPECT_EQ(w.c().verdict->cause, Cause::inconclusive);
  EXPECT_THAT(w.c().verdict->missing, Contains(HasSubstr("had not ended after 2 h")));
}

TEST(Rerun, ADependentThatCanNeverRunHoldsNothing) {
  RerunWorld w;
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kFindDependents) return std::nullopt;
    Json job = holder(18, "dependency");
    job.set("reason", "DependencyNeverSatisfied");
    return held_by(job);
  };
  w.fail_job(1);
  w.settle();
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
}

// Both cases' jobs wait for each other's: they have ended, and only their re-runs are still to come.
TEST(Rerun, TheThirdRunLooksForDependentsToo) {
  RerunWorld w;
  w.bad = {"n3"};
  w.fail_job(1);
  w.settle();
  ASSERT_NE(w.c().program(3), nullptr);
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
  EXPECT_EQ(w.count("c1.r3.a1:prepare"), 1);
}

TEST(Rerun, WhereDependentsCannotBeFoundOutItIsAsked) {
  RerunWorld w;
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kFindDependents) return std::nullopt;
    return fail(ErrorCode::slurm_away, "slurmctld does not answer");
  };
  w.fail_job(1);
  w.settle(hours(1));
  EXPECT_EQ(w.c().reruns.reason, "dependents_unknown");
  w.answer_rerun(1, "same");
  w.settle();
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
  EXPECT_EQ(w.count(":dependents"), 1);
}

struct AskRow {
  const char* name;
  const char* rerun;
  std::function<void(RerunWorld&, Json& opened)> given;
  const char* reason;
};

TEST(Rerun, IsAskedForWhereItMayHarmOrCost) {
  const std::vector<AskRow> rows = {
      {"the user wants to be asked", "ask", [](RerunWorld&, Json&) {}, "asked_for"},
      {"more nodes than the site lets run again", "same",
       [](RerunWorld& w, Json&) { w.policy.ask_above_nodes = 1; }, "large"},
      {"more node-hours", "same", [](RerunWorld& w, Json&) { w.time_limit_s = 257 * 3600; }, "large"},
      {"a copy protects nothing", "copy", [](RerunWorld&, Json& o) { o.set("names_folder", true); },
       "names_folder"},
      {"it submits jobs itself", "same", [](RerunWorld&, Json& o) { o.set("submits_jobs", true); },
       "submits_jobs"},
      {"too large a folder", "copy",
       [](RerunWorld& w, Json&) {
         w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
           if (command.args["how"].as_string() != "copy") return std::nullopt;
           return Json::object({{"folder", ""}, {"too_large", true}, {"why", "3 GiB in 40000 files"}});
         };
       },
       "too_large"},
      {"a full disk in the middle of the copy", "copy",
       [](RerunWorld& w, Json&) {
         w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
           if (command.args["how"].as_string() != "copy") return std::nullopt;
           return fail(ErrorCode::storage_full, "no space left on /home");
         };
       },
       "not_prepared"},
  };
  for (const AskRow& row : rows) {
    SCOPED_TRACE(row.name);
    for (const char* answer : {"same", "never", ""}) {
      SCOPED_TRACE(answer);
      RerunWorld w;
      Json opened = Json::object();
      row.given(w, opened);
      w.fail_job(1, "n[1-2]", row.rerun, opened);
      w.settle(hours(1));
      // V has run, a provisional verdict says what is asked, and no run of P is there.
      EXPECT_TRUE(w.c().reruns.asking);
      EXPECT_EQ(w.c().reruns.reason, row.reason);
      EXPECT_EQ(w.c().check_of(1)->outcome, Outcome::ok);
      EXPECT_EQ(w.count(".r2.a1:submit"), 0);
      ASSERT_TRUE(w.c().verdict);
      EXPECT_FALSE(w.c().verdict->final);
      EXPECT_THAT(w.c().verdict->next, Contains(HasSubstr("sickbay rerun c1 --same")));
      EXPECT_THAT(case_summary(w.c())["waits_for"].as_string(), HasSubstr("sickbay rerun c1"));
      if (*answer != '\0') w.answer_rerun(1, answer);
      w.settle();
      ASSERT_TRUE(w.c().is_closed());
      if (std::string(answer) == "same") {
        EXPECT_EQ(w.c().verdict->cause, Cause::program) << w.c().verdict->to_json().pretty();
        EXPECT_EQ(w.args_of.at("c1.r2.a1:submit")["folder"].as_string(), "");
      } else {
        EXPECT_EQ(w.c().verdict->cause, Cause::inconclusive);
        EXPECT_EQ(w.count(".r2.a1:submit"), 0);
        EXPECT_THAT(w.c().verdict->missing, Contains(HasSubstr(*answer == '\0' ? "nobody answered within 1 d"
                                                                               : "alice wanted none")));
      }
      w.expect_same_after_replay();
    }
  }
}

TEST(Rerun, AnAnswerMayComeBeforeTheQuestion) {
  RerunWorld w;
  w.policy.ask_above_nodes = 1;
  w.fail_job(1, "n[1-2]", "ask");
  w.answer_rerun(1, "copy");
  w.settle();
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
  EXPECT_FALSE(w.args_of.at("c1.r2.a1:submit")["folder"].as_string().empty());
}

TEST(Rerun, NeverEndsOneThatIsUnderWay) {
  RerunWorld w;
  w.program = [](const RunId& run, const Names&) { return run.n == 1 ? "FAILED" : "RUNNING"; };
  w.fail_job(1);
  w.settle(hours(1));
  ASSERT_EQ(w.c().program(2)->outcome, Outcome::running);
  w.answer_rerun(1, "never");
  w.settle();
  EXPECT_EQ(w.count("c1.r2.a1:cancel"), 1);
  EXPECT_EQ(w.c().verdict->cause, Cause::inconclusive);
}

// Nobody answers; V has convicted n1 and passed on another node.
TEST(Rerun, AtTheLimitOfTheCaseTheTablesAnswerWithoutASecondRunStands) {
  RerunWorld w;
  w.policy.case_limit = std::chrono::hours(2);
  w.bad = {"n1"};
  w.fail_job(1, "n1", "ask");
  w.settle();
  ASSERT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.c().verdict->cause, Cause::node) << w.c().verdict->rule;
  EXPECT_EQ(w.c().verdict->nodes, Names{"n1"});
  ASSERT_EQ(w.c().verdict->faulty->size(), 1u);
  EXPECT_TRUE(w.c().verdict->faulty->front().drains);
  w.expect_same_after_replay();
}

TEST(Rerun, AQuestionTakesNothingBackThatTheTableHasSaid) {
  RerunWorld w;
  w.policy.ask_wait = w.policy.case_limit = std::chrono::hours(96);
  w.bad = {"n1"};
  w.fail_job(1, "n1", "ask");
  w.settle(std::chrono::hours(1));
  ASSERT_EQ(w.c().verdict->rule, "G3");
  // V's pass elsewhere is too old to convict by now.
  w.policy.control_age = std::chrono::seconds(1);
  w.now += std::chrono::hours(25);
  w.settle(std::chrono::hours(1));
  EXPECT_EQ(w.c().verdict->rule, "G3");
}

TEST(Rerun, NeverIsNotAsked) {
  RerunWorld w;
  w.policy.ask_above_nodes = 1;
  w.fail_job(1, "n[1-2]", "never");
  w.settle();
  EXPECT_EQ(w.c().verdict->rule, "P9");
  EXPECT_EQ(w.count(":dependents"), 0);
  EXPECT_THAT(w.c().verdict->missing, Contains(HasSubstr("--rerun=never was given")));
}

// A user who fixed the input while r2 waited got "non-deterministic, high".
TEST(Rerun, OfAChangedInputThereIsNone) {
  RerunWorld w;
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (!command.key.ends_with(":prepare")) return std::nullopt;
    return changed("/home/alice/run/data.in", "content");
  };
  w.fail_job(1, "n[1-2]", "copy", Json::object({{"inputs", inputs()}}));
  w.settle();
  ASSERT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.count(".r2.a1:submit"), 0);
  EXPECT_EQ(w.c().verdict->cause, Cause::inconclusive);
  EXPECT_THAT(w.c().verdict->missing, Contains(HasSubstr("data.in was changed after job 101 was submitted")));
}

TEST(Rerun, ARunOnInputsThatChangedWhileItWaitedProvesNothing) {
  RerunWorld w;
  w.program = [](const RunId& run, const Names&) { return run.n == 1 ? "FAILED" : "COMPLETED"; };
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (!command.key.ends_with(":compare")) return std::nullopt;
    return changed("/home/alice/run/data.in", "content");
  };
  w.fail_job(1, "n[1-2]", "same", Json::object({{"inputs", inputs()}}));
  w.settle();
  ASSERT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.c().program(2)->outcome, Outcome::ok);
  EXPECT_EQ(w.c().verdict->cause, Cause::inconclusive) << "and not non-deterministic";
  EXPECT_THAT(w.c().verdict->missing, Contains(HasSubstr("data.in was changed")));
  w.expect_same_after_replay();
}

TEST(Rerun, InputsThatStayedAreComparedOnceAndCount) {
  RerunWorld w;
  w.fail_job(1, "n[1-2]", "same", Json::object({{"inputs", inputs()}}));
  w.settle();
  EXPECT_EQ(w.count(":compare"), 1);
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
}

// A copy of a folder of which `what` is not as it should be.
Json flawed(const std::string& key, const char* what, int n = 2, int pipes = 0) {
  Json said = Json::object({{"folder", "/home/alice/copy-" + key},
                            {"left_out", pipes},
                            {"pipes", pipes},
                            {"first", Json::object({{what, "checkpoint -> /scratch/alice"}})},
                            {"changed", Json::array()},
                            {"too_large", false},
                            {"why", ""}});
  return said.set(what, n + (what == std::string_view("left_out") ? pipes : 0));
}

TEST(Rerun, ACopyThatProtectsNotAllIsAskedAbout) {
  for (const char* what : {"links_out", "unreadable", "left_out"})
    for (const char* answer : {"copy", "same", "never"}) {
      SCOPED_TRACE(std::string(what) + " " + answer);
      RerunWorld w;
      w.answer_with = [what](const Command& command) -> std::optional<Result<Json>> {
        if (command.verb != verb::kPrepareRerun || command.args["how"].as_string() != "copy")
          return std::nullopt;
        return flawed("c1.r2.a1", what, 2, 1);
      };
      w.fail_job(1, "n[1-2]", "copy");
      w.settle(hours(1));
      ASSERT_TRUE(w.c().reruns.asking);
      EXPECT_EQ(w.c().reruns.reason, what);
      EXPECT_THAT(w.c().reruns.question, testing::StartsWith("2 "));
      EXPECT_THAT(w.c().reruns.question, HasSubstr("checkpoint -> /scratch/alice"));
      EXPECT_THAT(w.c().reruns.question, HasSubstr("--copy"));
      EXPECT_EQ(w.count(".r2.a1:submit"), 0);
      w.answer_rerun(1, answer);
      w.settle();
      ASSERT_TRUE(w.c().is_closed());
      EXPECT_EQ(w.count(".r2.a1:submit"), answer == std::string_view("never") ? 0 : 1);
      if (answer != std::string_view("never")) {
        EXPECT_EQ(w.args_of.at("c1.r2.a1:submit")["folder"].as_string(),
                  answer == std::string_view("copy") ? "/home/alice/copy-c1.r2.a1" : "");
      }
      EXPECT_EQ(w.args_of.at("c1:clean")["folders"].as_strings(), Names{"/home/alice/copy-c1.r2.a1"});
      w.expect_same_after_replay();
    }
}

TEST(Rerun, FifosAndWhatAnOlderVersionCountedAreNotAskedAbout) {
  for (const bool old : {false, true}) {
    RerunWorld w;
    w.answer_with = [old](const Command& command) -> std::optional<Result<Json>> {
      if (command.verb != verb::kPrepareRerun) return std::nullopt;
      if (!old) return flawed("c1.r2.a1", "left_out", 0, 3);
      return Json::object({{"folder", "/copy"}, {"links_out", 3}, {"left_out", 1}});
    };
    w.fail_job(1, "n[1-2]", "copy");
    w.settle();
    EXPECT_EQ(w.count(".r2.a1:submit"), 1) << old;
    EXPECT_EQ(w.c().verdict->cause, Cause::program);
  }
}

TEST(Rerun, ARefusedAttemptLeavesItsCopyToTheNext) {
  RerunWorld w;
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.key == "c1.r2.a1:submit") return fail(ErrorCode::refused_by_slurm, "no nodes");
    if (!command.args.has("reuse")) return std::nullopt;
    return Json::object({{"folder", command.args["reuse"]}});
  };
  w.fail_job(1, "n[1-2]", "copy");
  w.settle();
  ASSERT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.args_of.at("c1.r2.a2:prepare")["reuse"].as_string(), "/home/alice/copy-c1.r2.a1");
  EXPECT_EQ(w.args_of.at("c1.r2.a2:submit")["folder"].as_string(), "/home/alice/copy-c1.r2.a1");
  EXPECT_EQ(w.args_of.at("c1:clean")["folders"].as_strings(), Names{"/home/alice/copy-c1.r2.a1"});
  w.expect_same_after_replay();
}

TEST(Rerun, AFolderThatWasNotOursIsTold) {
  RerunWorld w;
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kCleanFolder) return std::nullopt;
    EXPECT_EQ(command.args["opened"].as_int(), to_micros(from_unix_seconds(1'800'000'000)));
    return Json::object({{"removed", 0}, {"kept", Names{"/home/alice/x"}}});
  };
  w.fail_job(1, "n[1-2]", "copy");
  w.settle();
  EXPECT_THAT(w.c().notes, Contains(HasSubstr("/home/alice/x was not removed")));
}

Json noted(const char* path, const char* how) {
  Json said = Json::object({{"folder", ""}, {"changed", Json::array()}, {"too_large", false}, {"why", ""}});
  return said.set("noted", Json::array({Json::object({{"path", path}, {"how", how}})}));
}

TEST(Rerun, WhatTheFirstRunWroteItselfIsToldAndKeepsNoneAway) {
  RerunWorld w;
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kPrepareRerun) return std::nullopt;
    return noted("/home/alice/run/out.log", "by_run");
  };
  w.fail_job(1, "n[1-2]", "same", Json::object({{"inputs", inputs()}}));
  w.settle();
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
  EXPECT_EQ(w.count(":compare"), 1);
  EXPECT_THAT(w.c().notes,
              testing::ElementsAre("/home/alice/run/out.log was written by the first run itself: the "
                                   "second begins with what it left"));
  w.expect_same_after_replay();
}

TEST(Rerun, AnInputThatIsGoneIsToldAndKeepsNoneAway) {
  RerunWorld w;
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kPrepareRerun) return std::nullopt;
    return noted("/home/alice/run/data.in", "gone");
  };
  w.fail_job(1, "n[1-2]", "same", Json::object({{"inputs", inputs()}}));
  w.settle();
  EXPECT_EQ(w.c().verdict->cause, Cause::program) << "the second run failed alike";
  EXPECT_THAT(w.c().notes, testing::ElementsAre(HasSubstr("data.in is gone")))
      << "once, though it was seen twice";
}

TEST(Rerun, TheTimesOfRunsInTheUsersOwnFolderGoWithTheOrder) {
  for (const char* how : {"same", "copy"}) {
    SCOPED_TRACE(how);
    const bool same = std::string(how) == "same";
    RerunWorld w;
    w.bad = {"n3"};  // a third run
    w.fail_job(1, "n[1-2]", how, Json::object({{"inputs", inputs()}}));
    w.settle();
    const auto times = [&](const std::string& key) { return w.args_of.at(key)["ran"].items(); };
    ASSERT_EQ(times("c1.r2.a1:prepare").size(), 1U);
    const JobInfo& first = w.c().program(1)->job;
    EXPECT_EQ(times("c1.r2.a1:prepare")[0]["from"].as_int(),
              to_micros(first.start - std::chrono::seconds(3)));
    EXPECT_EQ(times("c1.r2.a1:prepare")[0]["to"].as_int(), to_micros(first.end + std::chrono::seconds(5)));
    EXPECT_EQ(times("c1.r3.a1:prepare").size(), same ? 2U : 1U) << "the second wrote to its copy";
    EXPECT_EQ(w.count(":compare"), same ? 2 : 0);
    if (same) {
      EXPECT_EQ(times("c1.r2.a1:compare").size(), 2U);
    }
  }
}

TEST(Rerun, WhatIsKilledForItsTimeMayWriteALittleLonger) {
  RerunWorld w;
  w.program = [](const RunId&, const Names&) { return "TIMEOUT"; };
  w.fail_job(1, "n[1-2]", "same", Json::object({{"inputs", inputs()}}));
  w.settle();
  const Json& time = w.args_of.at("c1.r2.a1:prepare")["ran"].items().at(0);
  EXPECT_EQ(time["to"].as_int(), to_micros(w.c().program(1)->job.end + std::chrono::seconds(35)));
}

// Gone, or on hosts that are not this one: a copy cannot be made, and whether it may run in place is the
// user's to say.
TEST(Rerun, AFolderThatIsNotHereIsAskedAbout) {
  for (const char* way : {"copy", "same"}) {
    SCOPED_TRACE(way);
    RerunWorld w;
    w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
      if (command.verb != verb::kPrepareRerun) return std::nullopt;
      return fail(ErrorCode::not_found, "no folder /home/alice/run");
    };
    w.fail_job(1, "n[1-2]", way);
    w.settle();
    const bool same = std::string(way) == "same";
    EXPECT_EQ(w.count(".r2.a1:submit"), same ? 1 : 0);
    if (same)
      EXPECT_THAT(w.c().notes, Contains(HasSubstr("could not be compared: no folder /home/alice/run")));
    else
      EXPECT_THAT(w.c().verdict->missing, Contains(HasSubstr("no copy can be made")));
  }
}

TEST(Rerun, AQuestionIsPutToAnAnswerThatIsThereAlready) {
  RerunWorld w;
  w.program = [](const RunId& run, const Names&) { return run.n == 1 ? "NODE_FAIL" : "COMPLETED"; };
  w.fail_job(1, "n[1-2]", "ask");
  w.event("cluster", kNodesSeen,
          Json::object({{"groups", Json::array({Json::object({{"nodes", "n2"},
                                                              {"state", "DOWN"},
                                                              {"usable", false},
                                                              {"down", true},
                                                              {"partitions", Names{"main"}}})})}}));
  w.settle(hours(1));
  ASSERT_TRUE(w.c().verdict);
  EXPECT_EQ(w.c().verdict->nodes, Names{"n2"});
  EXPECT_FALSE(w.c().verdict->final);
  EXPECT_THAT(w.c().verdict->next, Contains(HasSubstr("sickbay rerun c1")));
}

TEST(Rerun, BudgetsOfADay) {
  for (const char* which : {"user", "script", "node-hours", "none"}) {
    SCOPED_TRACE(which);
    RerunWorld w;
    const bool bound = std::string(which) != "none";
    w.policy.reruns_per_user = std::string(which) == "user" ? 2 : 0;
    w.policy.reruns_per_script = std::string(which) == "script" ? 2 : 0;
    w.policy.rerun_node_hours = std::string(which) == "node-hours" ? 2 : 0;
    w.time_limit_s = 3600;  // two nodes for an hour at most, some seconds in fact
    // Three different failures, or the cases would share one experiment.
    for (int no = 1; no <= 3; ++no) {
      w.message = std::string(static_cast<std::size_t>(no), 'x');
      w.fail_job(no, "n[1-2]", "same", Json::object({{"script_digest", "d1"}}));
      w.settle(hours(1));
    }
    EXPECT_EQ(w.c(1).verdict->cause, Cause::program);
    if (std::string(which) == "node-hours") {
      EXPECT_TRUE(w.c(2).reruns.asking) << "what it may take counts, besides what was taken";
    } else {
      EXPECT_TRUE(w.c(2).is_closed());
      EXPECT_EQ(w.c(3).reruns.asking, bound);
    }
    // Others have their own.
    w.message = "another";
    w.fail_job(4, "n[1-2]", "same",
               Json::object({{"owner", Owner{"bob", 60002, 60002}.to_json()}, {"script_digest", "d1"}}));
    w.settle(hours(1));
    EXPECT_EQ(w.c(4).verdict->cause, Cause::program);
    // And the next day is another day.
    w.now += hours(25);
    w.message = "later";
    w.fail_job(5, "n[1-2]", "same", Json::object({{"script_digest", "d1"}}));
    w.settle(hours(1));
    EXPECT_EQ(w.c(5).verdict->cause, Cause::program);
    w.expect_same_after_replay();
  }
}

// Slurm's no costs nothing: what counts is a run, however often it was submitted.
TEST(Rerun, RefusedAttemptsAreNoRerunsOfTheBudget) {
  for (const bool always : {false, true}) {
    SCOPED_TRACE(always);
    RerunWorld w;
    w.policy.reruns_per_user = 1;
    w.answer_with = [&](const Command& command) -> std::optional<Result<Json>> {
      if (!command.key.starts_with("c1.r2.a") || command.verb != verb::kSubmitProgram) return std::nullopt;
      if (!always && command.key == "c1.r2.a3:submit") return std::nullopt;
      return fail(ErrorCode::conflict, "Requested node configuration is not available");
    };
    w.fail_job(1, "n[1-4]", "same");
    w.settle(hours(1));
    EXPECT_EQ(w.count("c1.r2.a3:submit"), 1) << "nobody is asked between attempts of one run";
    EXPECT_TRUE(w.c(1).is_closed());
    w.message = "another";
    w.fail_job(2, "n[1-4]", "same");
    w.settle(hours(1));
    EXPECT_EQ(w.c(2).reruns.asking, !always) << "the one that ran counts, and one that never did does not";
    w.expect_same_after_replay();
  }
}

TEST(Rerun, ARunThatTookThreeAttemptsCountsOnce) {
  RerunWorld w;
  w.policy.reruns_per_user = 2;
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.key != "c1.r2.a1:submit" && command.key != "c1.r2.a2:submit") return std::nullopt;
    return fail(ErrorCode::conflict, "Requested node configuration is not available");
  };
  for (int no = 1; no <= 3; ++no) {
    w.message = std::string(static_cast<std::size_t>(no), 'x');
    w.fail_job(no, "n[1-4]", "same");
    w.settle(hours(1));
  }
  EXPECT_TRUE(w.c(2).is_closed());
  EXPECT_TRUE(w.c(3).reruns.asking);
}

// What an older version opened is gone about as it was then.
TEST(Rerun, CasesOfOlderVersionsAreAskedNothing) {
  for (const bool copy : {false, true}) {
    RerunWorld w;
    w.policy.ask_above_nodes = 1;
    w.policy.reruns_per_user = 1;
    const Json options = Json::object({{"rerun", true}, {"workdir", copy ? "copy" : "same"}});
    w.fail_job(1, "n[1-2]", "same", Json::object({{"options", options}}));
    w.settle();
    EXPECT_EQ(w.c().verdict->cause, Cause::program);
    EXPECT_EQ(w.count(":dependents") + w.count(":prepare") + w.count(":clean"), 0);
    EXPECT_EQ(w.args_of.at("c1.r2.a1:submit")["workdir"].as_string(), copy ? "copy" : "same");
    EXPECT_FALSE(w.args_of.at("c1.r2.a1:submit").has("folder"));
    EXPECT_EQ(case_view(w.c())["options"]["rerun"], Json(true));
    EXPECT_TRUE(case_view(w.c())["rerun"].is_null());
  }
}

}  // namespace
}  // namespace sickbay::identify
