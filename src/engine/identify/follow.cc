// SPDX-License-Identifier: Apache-2.0
// The life of a run that we submitted: submit held, bind, release, read or cancel (decisions.md 17).
//
// Every command has a key of the run's attempt, so that asking again is harmless and a crash between two
// steps repeats none of them.
#include <fmt/format.h>

#include <algorithm>

#include "engine/identify/look.h"
#include "engine/identify/placement.h"
#include "engine/identify/verdict.h"
#include "model/verbs.h"

namespace sickbay::identify {
namespace {

// How Slurm's job is known for sure: after a crash of slurmctld its id may be a stranger's (decisions.md 17).
Json handle(const Run& run) {
  return Json::object({{"job_id", run.job.job_id},
                       {"uid", run.job.uid},
                       {"submit", to_micros(run.job.submit)},
                       {"key", run.key()}});
}

}  // namespace

void Look::follow(const Run& run) {
  if (!run.bound) return;
  // Tried on 22.05: a slurmctld that was killed brings a job back as held that was released before.  Under
  // the same boot a held job is Slurm's own answer (BadConstraints) or somebody's hold, and is let be.
  const bool held_again = run.release_done && run.job.held && run.outcome == Outcome::pending &&
                          run.seen_at > run.released_at && run.released_boot != known_.view.controller_boot;
  if (!ended(run.outcome) && !run.cancel_wanted && (run.releases == 0 || held_again))
    command(run.key() + ":release" + (run.releases == 0 ? "" : std::to_string(run.releases + 1)),
            verb::kRelease, handle(run));
  // V's word stands in its output, also where V itself ended badly.  One that never started has none.
  if (run.is_verification() && ended(run.outcome) && run.outcome != Outcome::lost && run.job.start != kNoTime)
    read_output(run);
}

// `--check`: a small job of the owner that looks at what a COMPLETED run left (no user code runs on this
// host, decisions.md 3).
void Look::drive_result_check(const Run& run) {
  if (const Run* check = c_.result_check_of(run.id.n)) return follow(*check);
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

// V in the queue must not hold up a verdict for long: cancelled it is unknown, and may be tried again.
void Look::give_up_waiting(const Run& v, const Run* p) {
  if (!v.live() || v.outcome != Outcome::pending) return;
  // It names its nodes, so it can start on no others.
  const bool lost_a_node = std::any_of(v.nodes.begin(), v.nodes.end(),
                                       [&](const std::string& name) { return known_.view.is_down(name); });
  if (lost_a_node) cancel(v, "a node that it waits for went down");
  // While P is on the nodes itself V may have to wait for it: the time counts from its end.
  if (!v.release_done || (p && !ended(p->outcome))) return;
  const TimePoint limit =
      std::max(v.released_at, p ? p->ended_at : kNoTime) + known_.policy.verification_wait;
  if (known_.now >= limit)
    cancel(v, fmt::format(
                  "V was queued for {} min",
                  std::chrono::duration_cast<std::chrono::minutes>(known_.policy.verification_wait).count()));
  else
    wake(limit);
}

// --- commands

void Look::submit_program(int n, int attempt, bool relaxed) {
  // Chosen now and kept in the intent: an attempt stays what it was, whatever the cluster looks like later.
  const Placement place = place_rerun(known_, c_, n, relaxed);
  const RunId id{c_.no, RunKind::program, n};
  command(fmt::format("{}.a{}:submit", id.text(), attempt), verb::kSubmitProgram,
          Json::object({{"run", id.text()},
                        {"attempt", attempt},
                        {"exclude", place.exclude},
                        {"reused", place.reused},
                        {"output_dir", c_.output_dir},
                        {"workdir", c_.options.workdir},
                        {"uid", c_.owner.uid}}));
}

void Look::submit_verification(int checks, int n, int attempt, const std::vector<std::string>& nodes) {
  // Speed is judged only where time is the symptom; else V may share its nodes, and need not wait for r2 to
  // leave them.  For a run that is still going the symptom is not known: it may become time.
  const Run* p = c_.program(checks);
  const bool alone =
      p && (time_matters(*p) || !ended(p->outcome)) && c_.programs.front().symptom != Symptom::abnormal_exit;
  const RunId id{c_.no, RunKind::verification, n};
  command(fmt::format("{}.a{}:submit", id.text(), attempt), verb::kSubmitVerification,
          Json::object({{"run", id.text()},
                        {"attempt", attempt},
                        {"checks", checks},
                        {"nodes", nodes},
                        {"exclusive", alone},
                        {"partition", c_.programs.front().job.partition}}));
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
                        {"out", run.job.std_out},
                        {"err", run.job.std_err},
                        {"nodes", run.nodes},
                        {"exit_code", run.job.exit_code},
                        {"state", run.job.state}}));
}

void Look::command(std::string key, std::string_view verb, Json args) {
  out_.commands.push_back({std::move(key), c_.name(), std::string(verb), std::move(args)});
}

void Look::wake(TimePoint when) { out_.wake_at = std::min(out_.wake_at, when); }

}  // namespace sickbay::identify
