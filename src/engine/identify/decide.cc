// SPDX-License-Identifier: Apache-2.0
// decide(): what an open case needs next.  Read next_steps() from the top: it is the flow of a case
// (doc/design/identify.md, "Flow").  Its runs: experiment.cc and follow.cc.
#include <fmt/format.h>

#include "engine/identify/look.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

// A preempted job that Slurm will run again is back in the queue by then.
constexpr std::chrono::seconds kRequeueGrace{60};

}  // namespace

Decision Look::result() {
  // A late answer may still come to a case that is closed; it starts nothing anew.
  if (!c_.is_closed()) next_steps();
  return std::move(out_);
}

void Look::next_steps() {
  if (c_.programs.empty()) return await_job();
  if (c_.cancel_requested) return finish_cancelled();
  const Run& first = c_.programs.front();
  // Read at once: the user may overwrite the file, and re-runs keep away from the node that it names.  It may
  // also turn a failure into a lack of memory, which needs no experiment.
  if (first.outcome == Outcome::failed || first.outcome == Outcome::out_of_memory) read_output(first);
  // Only the user's own check says whether a COMPLETED run failed after all.
  for (const Run& run : c_.programs)
    if (run.outcome == Outcome::checking) drive_result_check(run);
  if (!ended(first.outcome)) return;
  // Paper 000, 2.2, step 3: these outcomes explain themselves.
  if (first.outcome != Outcome::ok && first.outcome != Outcome::failed)
    return finish_without_experiment(first);

  // The table is asked before anything is started, so that no run begins whose outcome changes nothing.
  const auto verdict = judge(known_, c_);
  if (verdict) say(*verdict);
  if (verdict && verdict->final) return wind_up(*verdict);
  if (has_claim(first)) experiment();
}

// Runs of one job are started by one engine at a time (decisions.md 21).  The claim ends with the case.
bool Look::has_claim(const Run& first) {
  const std::string on = job_subject(first.job.job_id);
  if (claims_.holds(kName, c_.name(), on, known_.now)) return true;
  out_.claims.push_back(
      {.on = on, .holder = std::string(kName), .by = c_.name(), .reason = "finds out why it failed"});
  return false;
}

// --- ends that need no experiment

void Look::await_job() {
  if (c_.cancel_requested) return end_with(Cause::cancelled, "The job was never submitted.");
  // The client may have died between opening the case and its sbatch (decisions.md 18): open cases cost looks
  // at the queue, so this one must end by itself.
  if (known_.now >= c_.opened + known_.policy.bind_limit)
    return end_with(Cause::expired, "No job was bound to this case in time.");
  wake(c_.opened + known_.policy.bind_limit);
}

void Look::finish_cancelled() {
  // Closed only when our runs are over: a closed case watches none, and they would go on unseen.
  if (cancel_own_runs("the case was cancelled")) return;
  end_with(Cause::cancelled, fmt::format("The investigation was cancelled{}.",
                                         c_.cancelled_by.empty() ? "" : " by " + c_.cancelled_by));
}

void Look::finish_without_experiment(const Run& first) {
  switch (first.outcome) {
    case Outcome::cancelled:
      return end_with(Cause::cancelled, "The job was cancelled; it did not fail.");
    case Outcome::deadline:
      return end_with(Cause::deadline, "The job could not end before its --deadline.");
    case Outcome::lost:
      // Submitting it for the user would need his own sbatch line, with the options that a re-run drops.
      return end_with(Cause::inconclusive,
                      fmt::format("Slurm has lost job {}; submit it again.", first.job.job_id));
    case Outcome::out_of_memory:
      // Runs may be under way: where only a step died, Slurm says FAILED and the output said it later.
      if (!first.output_read || cancel_own_runs("the job ran out of memory")) return;
      return end_with(Cause::out_of_memory, "The job used more memory than it was given.",
                      {"ask for more memory (--mem, --mem-per-cpu), or use more nodes"});
    case Outcome::no_failure:
      // A requeued job keeps its id and is the same run of ours: its case waits for it (decisions.md 29).
      if (known_.now < first.ended_at + kRequeueGrace) return wake(first.ended_at + kRequeueGrace);
      return end_with(Cause::cancelled, "The job was preempted; it did not fail.",
                      {"submit it again, or with --requeue"});
    default:
      return;
  }
}

void Look::end_with(Cause cause, std::string sentence, std::vector<std::string> next) {
  Verdict v;
  v.cause = cause;
  v.final = true;
  v.sentence = std::move(sentence);
  v.next = std::move(next);
  v.rule = "end";  // no row: the table was not asked
  v.at = known_.now;
  say(v);
  close();
}

// --- after the verdict

void Look::wind_up(const Verdict& verdict) {
  // --deliver: with a node guilty, P's run elsewhere is the user's result.  With any other cause it is one
  // more failure.
  const bool keep = c_.options.deliver && verdict.cause == Cause::node;
  if (keep)
    for (const Run& run : c_.programs)
      if (run.id.n > 1) follow(run);  // it may not be released yet
  if (cancel_own_runs("the verdict stands", keep)) return;
  // The last lines of each failed run belong to what `sickbay why` shows; after the close nobody reads them.
  for (const Run& run : c_.programs)
    if (run.outcome == Outcome::failed && run.bound && !run.output_read) {
      read_output(run);
      return;
    }
  close();
}

bool Look::cancel_own_runs(const std::string& why, bool keep_programs) {
  bool waiting = false;
  for (const auto* runs : {&c_.programs, &c_.verifications, &c_.result_checks})
    for (const Run& run : *runs) {
      // The first is the user's own: never ours to cancel (decisions.md 21).
      if (run.is_program() && run.id.n == 1) continue;
      if (ended(run.outcome)) continue;
      if (run.outcome == Outcome::checking) continue;  // its job is over; the check itself is in the list
      waiting = true;
      if (run.is_program() && keep_programs) continue;
      // One without a job id yet is waited for: its submission may already be with Slurm.
      if (run.bound) cancel(run, why);
    }
  return waiting;
}

// --- what the engine itself puts down

void Look::say(const Verdict& v) {
  // decide() is asked after every event; only what is new to a reader goes into the journal.
  if (c_.verdict && c_.verdict->rule == v.rule && c_.verdict->final == v.final &&
      c_.verdict->nodes == v.nodes)
    return;
  record(kVerdict, v.to_json());
}

void Look::close() { record(kCaseClosed, Json::object()); }

void Look::record(std::string_view kind, Json body) {
  Event event;  // the journal gives it its number and its time
  event.subject = c_.name();
  event.kind = kind;
  event.body = std::move(body);
  out_.records.push_back(std::move(event));
}

Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const Case& subject, TimePoint now) {
  return Look(cluster, {cluster.view, state, policy, now}, subject).result();
}

}  // namespace sickbay::identify
