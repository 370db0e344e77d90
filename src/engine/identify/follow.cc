// SPDX-License-Identifier: Apache-2.0
// The life of a run that we submitted: submit held, bind, release, read or cancel (decisions.md 17).
//
// Every command has a key of the run's attempt, so that asking again is harmless and a crash between two
// steps repeats none of them.
#include <fmt/format.h>

#include <algorithm>

#include "engine/identify/advice.h"
#include "engine/identify/look.h"
#include "engine/identify/placement.h"
#include "engine/identify/resume.h"
#include "engine/identify/verification.h"
#include "model/verbs.h"

namespace sickbay::identify {
namespace {

constexpr int kMostReleases = 4;  // of one attempt, where its launch fails each time

// How Slurm's job is known for sure: after a crash of slurmctld its id may be a stranger's (decisions.md 17).
Json handle(const Run& run) {
  return Json::object({{"job_id", run.job.job_id},
                       {"uid", run.job.uid},
                       {"submit", to_micros(run.job.submit)},
                       // The first is the user's own submission, which bears none.
                       {"key", run.is_program() && run.id.n == 1 ? "" : run.key()}});
}

}  // namespace

void Look::follow(const Run& run) {
  if (!run.bound) return;
  // Tried on 22.05: a slurmctld that was killed brings a job back as held that was released before.  Under
  // the same boot a held job is Slurm's own answer (BadConstraints) or somebody's hold, and is let be.
  const bool held_again = run.release_done && run.job.held && run.outcome == Outcome::pending &&
                          run.seen_at > run.released_at && run.released_boot != known_.view.controller_boot;
  // Tried on 22.05: a slurmctld that was killed gives a job's number again, a slurmd that still knows the
  // first job of that number refuses to start the second, and Slurm puts it back and holds it, for good.  It
  // never began.
  const bool not_launched = run.release_done && run.outcome == Outcome::pending &&
                            run.job.reason == kLaunchFailedHeld && run.seen_at > run.released_at;
  if (not_launched && run.releases >= kMostReleases)
    return cancel(run, "Slurm could not start it on any try");
  if (!ended(run.outcome) && !run.cancel_wanted && (run.releases == 0 || held_again || not_launched))
    command(run.key() + ":release" + (run.releases == 0 ? "" : std::to_string(run.releases + 1)),
            verb::kRelease, handle(run));
  // One of ours that its site puts back for its exit code: nobody else would take it away.
  if (run.is_held) {
    Json args = handle(run);
    args.set("why", "it has failed, and Slurm put it back and holds it");
    command(run.key() + std::string(kTakeAway), verb::kCancel, std::move(args));
  }
  // V's word stands in its output, also where V itself ended badly.  One that never started has none.
  if (run.is_verification() && ended(run.outcome) && run.outcome != Outcome::lost && run.job.start != kNoTime)
    read_output(run);
}

// `--check`: a small job of the owner that looks at what a COMPLETED run left (no user code runs on this
// host, decisions.md 3).
void Look::drive_result_check(const Run& run) {
  if (const Run* check = c_.result_check_of(run.id.n)) {
    follow(*check);
    // The case would wait for it for good: given up, its job's result is taken as good.
    if (!check->live() || check->outcome != Outcome::pending || !check->release_done) return;
    if (check->bad_constraints) return cancel(*check, "Slurm has no node for it");
    const TimePoint limit = check->released_at + known_.policy.rerun_wait;
    return known_.now >= limit ? cancel(*check, "it found no free node in time") : wake(limit);
  }
  const RunId id{c_.no, RunKind::check, static_cast<int>(c_.result_checks.size()) + 1};
  command(id.text() + ".a1:submit", verb::kSubmitProgram,
          Json::object({{"run", id.text()},
                        {"attempt", 1},
                        {"checks", run.id.n},
                        {"check", c_.options.check},
                        {"partition", run.job.partition},
                        {"work_dir", run.job.work_dir},
                        {"output", run.job.std_out},
                        {"output_dir", c_.output_dir},
                        {"uid", c_.owner.uid}}));
}

// --- commands

void Look::submit_program(int n, int attempt) {
  // Chosen now and kept in the intent: an attempt stays what it was, whatever the cluster looks like later.
  if (time_is_over()) return;
  const Run* before = c_.program(n);
  const Placement place = place_rerun(known_, c_, n, before ? before->refusals() : 0);
  const RunId id{c_.no, RunKind::program, n};
  // Where it runs: cases of older versions say how, and their folder is made with the submission.
  Json::Member folder{"workdir", c_.options.workdir};
  if (c_.reruns.checked) folder = {"folder", c_.reruns.place.folder};
  Json args = Json::object({{"run", id.text()},
                            {"attempt", attempt},
                            {"exclude", place.exclude},
                            {"reused", place.reused},
                            {"output_dir", c_.output_dir},
                            std::move(folder),
                            {"uid", c_.owner.uid}});
  if (!place.include.empty()) args.set("include", place.include);
  if (c_.parent != 0) args.set("array_task", c_.task.task);
  command(fmt::format("{}.a{}:submit", id.text(), attempt), verb::kSubmitProgram, std::move(args));
}

void Look::submit_verification(int checks, int n, int attempt, const std::vector<std::string>& nodes) {
  if (time_is_over()) return;
  const Run* p = c_.program(checks);
  // Else V shares its nodes, and need not wait for r2 to leave them.
  const bool alone = wants_whole_nodes(c_, checks);
  const RunId id{c_.no, RunKind::verification, n};
  Json args = Json::object({{"run", id.text()},
                            {"attempt", attempt},
                            {"checks", checks},
                            {"nodes", nodes},
                            {"exclusive", alone},
                            {"reservation", p ? p->job.reservation : ""},
                            {"partition", c_.programs.front().job.partition}});
  // Where the user's job ran: a node on which that is not there could not have run it.
  if (const std::string& folder = c_.programs.front().job.work_dir; !folder.empty())
    args.set("folder", folder);
  command(fmt::format("{}.a{}:submit", id.text(), attempt), verb::kSubmitVerification, std::move(args));
}

void Look::cancel(const Run& run, const std::string& why) {
  // The first reason stays: it is what the user is told.
  if (!run.bound || ended(run.outcome) || run.cancel_wanted) return;
  Json args = handle(run);
  args.set("why", why);
  command(run.key() + ":cancel", verb::kCancel, std::move(args));
}

void Look::read_output(const Run& run) {
  if (run.output_read) return;
  command(run.key() + ":output", verb::kReadOutput,
          Json::object({{"run", run.id.text()},
                        {"job_id", run.job.job_id},
                        {"out", written_name(run.job.std_out, run)},
                        {"err", written_name(run.job.std_err, run)},
                        {"nodes", run.nodes},
                        {"exit_code", run.job.exit_code},
                        {"state", run.job.state}}));
}

void Look::command(std::string key, std::string_view verb, Json args) {
  // What a task was submitted with is kept with the case of its array, and with the first one of a job that
  // goes on.
  if (const std::int64_t of = submission_case(c_); of != c_.no) args.set("submission_of", case_name(of));
  out_.commands.push_back({std::move(key), c_.name(), std::string(verb), std::move(args)});
}

void Look::wake(TimePoint when) { out_.wake_at = std::min(out_.wake_at, when); }

}  // namespace sickbay::identify
