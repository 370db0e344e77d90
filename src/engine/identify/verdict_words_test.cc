// SPDX-License-Identifier: Apache-2.0
// The words of a verdict: the best known cause goes first, what we ended says so, and a library that does not
// end is told in every row that it can come to.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "engine/identify/case_view.h"
#include "engine/identify/failure_words.h"
#include "engine/identify/rerun_test_world.h"
#include "engine/identify/verdict.h"
#include "engine/identify/verdict_text.h"

namespace sickbay::identify {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kInvalidRank =
    "MPI_Send: Invalid rank has value 2 but must be nonnegative and less than 2";

// --- how a run failed

struct HowItEnded {
  Symptom symptom = Symptom::abnormal_exit;
  int code = 0, signal = 0;  // Slurm's
  int died_of = 0;           // as the output says
  const char* cause = "";
  Telling tells = Telling::nothing;
  std::vector<std::string> lines = {};  // the last of the output
};

constexpr const char* kExited251 = "srun: error: n2: task 1: Exited with exit code 251";
constexpr const char* kTerminated = "srun: error: n1: task 0: Terminated";

identify::Run failed_run(const HowItEnded& end) {
  identify::Run run;
  run.id = {1, RunKind::program, 1};
  run.outcome = Outcome::failed;
  run.symptom = end.symptom;
  run.nodes = {"n1", "n2"};
  run.job.state = "FAILED";
  run.job.exit_code = end.code;
  run.job.exit_signal = end.signal;
  run.trace.emplace();
  run.trace->signal = end.died_of;
  if (end.died_of == SIGABRT) run.trace->signal_name = "SIGABRT", run.trace->node = "n2";
  if (end.died_of == SIGSEGV) run.trace->signal_name = "SIGSEGV", run.trace->node = "n2";
  if (end.died_of == SIGKILL) run.trace->signal_name = "SIGKILL", run.trace->node = "n1";
  run.trace->cause = end.cause;
  run.trace->cause_tells = end.tells;
  run.trace->last_lines = end.lines;
  return run;
}

TEST(VerdictWords, TheBestKnownCauseGoesFirst) {
  using enum Telling;
  const struct {
    const char* what;
    HowItEnded end;
    const char* words;
  } rows[] = {
      {"a code alone", {.code = 137}, "ended as FAILED with exit code 137"},
      {"a signal alone", {.signal = 9}, "was killed by signal 9"},
      {"the code of who began it goes before that of those who were swept away",
       {.code = 143, .lines = {kExited251, kTerminated}},
       "ended as FAILED with exit code 251 of task 1; exit code 143 is of those that srun then ended"},
      {"the same, as a signal",
       {.signal = 15, .lines = {kExited251, kTerminated}},
       "ended as FAILED with exit code 251 of task 1; signal 15 is of those that srun then ended"},
      {"of several at once no task is named",
       {.code = 143, .lines = {"srun: error: n[1-2]: tasks 0-1: Exited with exit code 251"}},
       "ended as FAILED with exit code 251; exit code 143 is of those that srun then ended"},
      {"who was swept away first hides nobody",
       {.code = 143, .lines = {kTerminated, kExited251}},
       "ended as FAILED with exit code 143"},
      {"a code of its own hides nobody",
       {.code = 251, .lines = {kExited251}},
       "ended as FAILED with exit code 251"},
      {"nor does the same code",
       {.code = 137, .lines = {"srun: error: n1: task 0: Exited with exit code 137"}},
       "ended as FAILED with exit code 137"},
      {"a word of the program, and who began it",
       {.code = 143, .cause = kInvalidRank, .tells = says, .lines = {kExited251}},
       "failed: MPI_Send: Invalid rank has value 2 but must be nonnegative and less than 2 (exit code 251 of "
       "task 1; exit code 143 is of those that srun then ended)"},
      {"a word of the program",
       {.code = 137, .cause = kInvalidRank, .tells = says},
       "failed: MPI_Send: Invalid rank has value 2 but must be nonnegative and less than 2 (exit code 137)"},
      {"a word of the program, killed",
       {.signal = 9, .cause = kInvalidRank, .tells = says},
       "failed: MPI_Send: Invalid rank has value 2 but must be nonnegative and less than 2 (signal 9)"},
      {"the signal of a rank that was swept away is no second cause",
       {.code = 137, .died_of = SIGKILL, .cause = kInvalidRank, .tells = says},
       "failed: MPI_Send: Invalid rank has value 2 but must be nonnegative and less than 2 (exit code 137)"},
      {"a signal of its own, and why",
       {.code = 134, .died_of = SIGABRT, .cause = "a.c:3: main: Assertion `n > 0' failed.", .tells = says},
       "failed: a.c:3: main: Assertion `n > 0' failed. (SIGABRT on n2)"},
      {"a signal of its own, and not why", {.code = 134, .died_of = SIGABRT}, "died of SIGABRT on n2"},
      {"it gave up",
       {.code = 3, .cause = "the program called MPI_Abort, code 3", .tells = gives_up},
       "failed: the program called MPI_Abort, code 3 (exit code 3)"},
      {"what followed on another end is no cause",
       {.code = 137, .cause = "UCX: connect(fd=12) failed: Connection refused", .tells = follows},
       "ended as FAILED with exit code 137; its output says: UCX: connect(fd=12) failed: Connection refused"},
      {"nor where one died of its own signal: the others lost their connections to it",
       {.code = 139,
        .died_of = SIGSEGV,
        .cause = "UCX: connect(fd=12) failed: Connection refused",
        .tells = follows},
       "died of SIGSEGV on n2"},
      {"whom the launcher killed did not begin it",
       {.code = 137,
        .died_of = SIGKILL,
        .cause = "UCX: connect(fd=12) failed: Connection refused",
        .tells = follows},
       "died of SIGKILL on n1; its output says: UCX: connect(fd=12) failed: Connection refused"},
      {"it never began",
       {.signal = 53, .cause = kInvalidRank, .tells = says},
       "never began: the node could not open its output (exit code 0:53)"},
      {"a word, and then its time limit",
       {.symptom = Symptom::stall, .cause = "ValueError: no matrix", .tells = says},
       "said \"ValueError: no matrix\", then ran into its time limit"},
      {"a signal, and then its time limit",
       {.symptom = Symptom::stall, .died_of = SIGABRT},
       "died of SIGABRT on n2, then ran into its time limit"},
  };
  for (const auto& row : rows) EXPECT_EQ(failure_words(failed_run(row.end)), row.words) << row.what;
}

TEST(VerdictWords, TheBracketsTellWhatIsKnownMost) {
  using enum Telling;
  const struct {
    HowItEnded end;
    std::string words;
  } rows[] = {
      {{.code = 3}, ""},
      {{.code = 143, .cause = "UCX: connect(fd=12) failed: Connection refused", .tells = follows}, ""},
      {{.code = 137, .died_of = SIGKILL}, ""},
      {{.code = 139, .died_of = SIGSEGV}, "SIGSEGV"},
      {{.code = 139, .died_of = SIGSEGV, .cause = "UCX: connect failed", .tells = follows}, "SIGSEGV"},
      {{.code = 3, .cause = "the program called MPI_Abort, code 3", .tells = gives_up},
       "the program called MPI_Abort, code 3"},
      {{.code = 134, .died_of = SIGABRT, .cause = "the program called MPI_Abort, code 3", .tells = gives_up},
       "the program called MPI_Abort, code 3"},
      {{.code = 134, .died_of = SIGABRT, .cause = "a.c:3: main: Assertion `n > 0' failed.", .tells = says},
       "a.c:3: main: Assertion `n > 0' failed."},
      {{.code = 137, .died_of = SIGKILL, .cause = kInvalidRank, .tells = says}, kInvalidRank},
  };
  for (const auto& row : rows) EXPECT_EQ(words_in_brackets(failed_run(row.end)), row.words) << row.words;
}

TEST(VerdictWords, TheSentenceAndTheListSayWhy) {
  RerunWorld w;
  w.answer_with = [](const Command& command) -> std::optional<Result<Json>> {
    if (command.verb != verb::kReadOutput || command.args["run"].as_string().find(".r") == std::string::npos)
      return std::nullopt;
    return Json::object({{"trace", Json::object({{"message", "Abort(1) on node 0"},
                                                 {"cause", kInvalidRank},
                                                 {"cause_tells", "says"}})}});
  };
  w.fail_job(1);
  w.settle();
  ASSERT_TRUE(w.c().verdict);
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
  EXPECT_EQ(w.c().verdict->sentence,
            fmt::format("The program or its input is the cause: it fails on good nodes each time ({}).",
                        kInvalidRank));
  EXPECT_EQ(case_summary(w.c())["cause"].as_string(), kInvalidRank);
  const Json print = case_view(w.c())["runs"].items().at(0)["fingerprint"];
  EXPECT_EQ(print["cause"].as_string(), kInvalidRank);
  EXPECT_EQ(print["cause_tells"].as_string(), "says");
  w.expect_same_after_replay();
}

// --- verifications that were ended

identify::Run ended_verification(Outcome outcome, bool by_us, std::initializer_list<const char*> results) {
  identify::Run run;
  run.id = {1, RunKind::verification, 2};
  run.outcome = outcome;
  run.cancel_wanted = by_us;
  if (by_us) run.refusal = "its re-run completed";
  int n = 0;
  for (const char* result : results)
    run.results.push_back({fmt::format("n{}", ++n), "", result,
                           std::string_view(result) == "ok"
                               ? ""
                               : "Job step aborted: Waiting up to 7 seconds for job step to finish."});
  return run;
}

TEST(VerdictWords, AVerificationThatWeEndedSaysSo) {
  const auto lines = [](const identify::Run& v) {
    Case c;
    c.verifications.push_back(v);
    std::vector<std::string> why;
    add_run_lines(c, why);
    return why;
  };
  const char* const kOurs = "c1.v2 was cancelled by Sickbay: its re-run completed";
  EXPECT_THAT(lines(ended_verification(Outcome::cancelled, true, {"unknown", "unknown"})),
              ElementsAre(kOurs));
  EXPECT_THAT(lines(ended_verification(Outcome::cancelled, true, {})), ElementsAre(kOurs));
  EXPECT_THAT(lines(ended_verification(Outcome::cancelled, true, {"ok", "unknown"})),
              ElementsAre(kOurs, "c1.v2 passed on n1"))
      << "what it had said stands";
  EXPECT_THAT(lines(ended_verification(Outcome::cancelled, true, {"failed", "unknown"})),
              ElementsAre(kOurs, HasSubstr("c1.v2 finds n1 failed")));
  EXPECT_THAT(lines(ended_verification(Outcome::cancelled, true, {"ok", "ok"})),
              ElementsAre("c1.v2 passed on n[1-2]"))
      << "it had spoken of all";
  EXPECT_THAT(lines(ended_verification(Outcome::cancelled, false, {"unknown"})),
              ElementsAre("c1.v2 was cancelled, and not by Sickbay"));
  EXPECT_THAT(lines(ended_verification(Outcome::failed, false, {"unknown"})),
              ElementsAre(HasSubstr("c1.v2 finds n1 unknown: Job step aborted")));
  EXPECT_THAT(lines(ended_verification(Outcome::ok, true, {"ok"})), ElementsAre("c1.v2 passed on n1"))
      << "it was over before our cancel came";
}

// Seen: "c77.v2 gives no answer: cannot read verify-238.out", for it was ended before it wrote a line.
TEST(VerdictWords, AnOutputThatACancelledVerificationNeverWroteIsNoNews) {
  RerunWorld w;
  // As on_intent and on_job_seen leave one that we cancel.
  Case c;
  c.no = 1;
  c.verifications.push_back(ended_verification(Outcome::cancelled, true, {}));
  c.verifications.back().id = {1, RunKind::verification, 1};
  w.state.cases[1] = c;
  w.event("c1", kFailed,
          Json::object({{"key", "c1.v1.a1:output"},
                        {"verb", verb::kReadOutput},
                        {"error", Json::object({{"what", "cannot read verify-238.out"}})}}));
  EXPECT_EQ(w.c().verifications[0].refusal, "its re-run completed");
  EXPECT_TRUE(w.c().verifications[0].output_read);
  EXPECT_THAT(w.c().notes, testing::IsEmpty());
}

// --- a library that does not end

TEST(VerdictWords, AHangInFinalizeIsToldInEveryRow) {
  Case c;
  c.no = 1;
  c.programs.push_back(failed_run({.symptom = Symptom::stall}));
  c.programs[0].hang = Json::object(
      {{"why", "deadlock"},
       {"text", "all wait"},
       {"groups", Json::array({Json::object({{"call", "MPI_Finalize"}, {"standing", "waits"}})})}});
  ASSERT_TRUE(c.programs[0].hangs_at_its_end());
  int told = 0;
  for (const identify::Row& row : verdict_rows()) {
    if ((row.when.a1 & a_fail) == 0) continue;
    Verdict v;
    v.cause = row.cause;
    v.confidence = row.confidence;
    v.faulty.emplace();
    put_in_words(c, row, Told{}, v);
    const bool about_it = row.cause == Cause::program || row.cause == Cause::non_deterministic ||
                          row.cause == Cause::inconclusive;
    const auto words = HasSubstr(
        "its work was done, and the MPI library did not end (all its ranks hang in "
        "MPI_Finalize)");
    told += about_it;
    if (about_it) {
      EXPECT_THAT(v.sentence, words) << row.rule;
    } else {
      EXPECT_THAT(v.sentence, Not(words)) << row.rule;
    }
  }
  EXPECT_GT(told, 20);
}

// --- evidence

TEST(VerdictWords, EvidenceTellsOfWhichKindItIs) {
  Case c;
  c.no = 1;
  c.programs.push_back(failed_run({.code = 134, .died_of = SIGABRT}));
  c.programs[0].trace->rank = 1;
  const Json row = case_view(c)["evidence"].items().at(0);
  EXPECT_EQ(row["text"].as_string(), "rank 1 failed first there");
  EXPECT_EQ(row["side"].as_string(), "against")
      << "what is made of it under a verdict, the reader's page says";
  EXPECT_EQ(row["what"].as_string(), "first_death");
}

}  // namespace
}  // namespace sickbay::identify
