// SPDX-License-Identifier: Apache-2.0
// decide(): what an open case needs next.  Read next_steps() from the top: it is the flow of a case
// (doc/design/identify.md, "Flow").  Its runs: experiment.cc and follow.cc.
#include <fmt/format.h>

#include "engine/identify/further.h"
#include "engine/identify/launch.h"
#include "engine/identify/look.h"
#include "engine/identify/provisional.h"
#include "engine/identify/rerun.h"
#include "engine/identify/resume.h"
#include "engine/identify/suspects.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

// A preempted job that Slurm will run again is back in the queue by then.
constexpr std::chrono::seconds kRequeueGrace{60};
// Slurm may drain a node a moment after it has ended the job that could not start there.
constexpr std::chrono::seconds kDrainGrace{5};

/// The rule of a verdict that no row of the table gave.
constexpr std::string_view kEnd = "end";

}  // namespace

Decision Look::result() {
  // A late answer may still come to a case that is closed; it starts nothing anew.
  if (!c_.is_closed())
    next_steps();
  else if (known_.state.resuming.contains(c_.no) && c_.resumption)
    out_.records.push_back(resumed_case(c_));
  return std::move(out_);
}

void Look::next_steps() {
  if (c_.job_id() == 0) return await_job();
  if (c_.array) return array_steps(*c_.array);
  if (c_.cancel_requested) return finish_cancelled();
  end_hangs();
  const Run& first = c_.programs.front();
  // Read at once: the user may overwrite the file, and re-runs keep away from the node that it names.  It may
  // also turn a failure into a lack of memory, which needs no experiment.
  if (first.outcome == Outcome::failed || first.outcome == Outcome::out_of_memory) read_output(first);
  // Only the user's own check says whether a COMPLETED run failed after all.
  for (const Run& run : c_.programs)
    if (run.outcome == Outcome::checking) drive_result_check(run);
  if (!ended(first.outcome)) return await_end(first);
  // A case that is open again for further runs has had its first run judged.
  if (!c_.further && fails_to_launch(first)) return;
  // Paper 000, 2.2, step 3: these outcomes explain themselves.
  if (!has_spoken(first.outcome)) return finish_without_experiment(first);

  if (shares_experiment()) return;
  // What is final stays, whatever a run that delivers the result still comes to: people and nodes have been
  // told of it.
  if (c_.verdict && c_.verdict->final) return wind_up(*c_.verdict);
  if (c_.further) return further_steps();
  // The table is asked before anything is started, so that no run begins whose outcome changes nothing.
  auto verdict = judge(known_, c_);
  // What the table has said already is more than an answer of ours that says what is waited for.
  if (!verdict &&
      (!c_.verdict || is_provisional_rule(c_.verdict->rule) || is_waiting_rule(c_.verdict->rule))) {
    verdict = verdict_while_waiting(c_);
    if (!verdict && !(c_.verdict && c_.verdict->rule == provisional_rule(c_)))
      verdict = provisional_verdict(known_, c_);
  }
  if (verdict && begins_further(c_, *verdict)) {
    // The table's answer is one on the way to a better one.
    // Not final, so that the case is not wound up before the further runs.
    verdict->final = false;
    say(*verdict);
    const Policy& p = known_.policy;
    return record(kRequeueAsked,
                  further_order(std::string(kUntilVerdict), p.further_runs, false, p.further_node_hours));
  }
  if (verdict) {
    add_rerun_words(c_, *verdict);
    say(*verdict);
  }
  if (verdict && verdict->final) return wind_up(*verdict);
  if (time_is_over()) return run_out();
  wake(c_.began_at() + known_.policy.case_limit);
  if (!nodes_in_doubt(known_, c_).empty()) wake(first.ended_at + kLateDown);
  if (has_claim(first)) experiment();
}

// A run that hangs would only use up its time limit.  Its owner said so when he submitted it (--hang=cancel),
// the one case in which his own job is ours to end; where another engine works on it, that one has the word.
// What only looks like a hang is told of and no more: a healthy program must never be ended.
void Look::end_hangs() {
  if (c_.options.hang != HangMode::cancel) return;
  for (const Run& run : c_.programs)
    if (run.hang_is_proven() && run.outcome == Outcome::running && !run.cancel_wanted &&
        has_claim(c_.programs.front()))
      cancel(run, "its ranks do not go on: " + run.hang["text"].as_string());
}

// Whatever still waits in the queue is not waited for any more; the rows of the table take it for an answer
// that will not come.  Where none of them is final even so, that is the answer.
void Look::run_out() {
  constexpr std::string_view kWhy = "the time of the case is over";
  bool live = false;
  for (const auto* runs : {&c_.programs, &c_.verifications})
    for (const Run& run : *runs) {
      if (run.is_program() && run.id.n == 1) continue;
      live = live || !ended(run.outcome);
      if (run.outcome == Outcome::pending) cancel(run, std::string(kWhy));
    }
  experiment();  // starts nothing now; reads what has ended
  // What has ended is read first: its output may still make a row of the table final.
  if (live || !out_.commands.empty()) return;
  Verdict v = provisional_verdict(known_, c_);
  v.final = true;
  v.rule = kEnd;
  v.sentence = "Not decided: the experiment could not be completed in time.";
  v.faulty = faulty_of(known_, c_, v);
  say(v);
  wind_up(v);
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

// Slurm holds for good what it could not start.  That is told, and the job stays its owner's: when he
// releases it, the case goes on.  It does not wait for that for ever.
void Look::await_end(const Run& first) {
  const TimePoint limit = first.seen_at + known_.policy.case_limit;
  const auto verdict = verdict_while_held(known_, c_, known_.now >= limit);
  if (!verdict) return;
  say(*verdict);
  if (verdict->final) return close();
  wake(limit);
}

// Slurm's word is enough, and the program never ran: no experiment could say more.
bool Look::fails_to_launch(const Run& first) {
  if (c_.verdict && c_.verdict->final && c_.verdict->rule == kRuleLaunch) {
    wind_up(*c_.verdict);
    return true;
  }
  if (c_.verdict && c_.verdict->final) return false;
  if (const auto verdict = verdict_of_failed_launch(known_, c_)) {
    say(*verdict);
    wind_up(*verdict);
    return true;
  }
  if (!may_be_failed_launch(first) || known_.now >= first.ended_at + kDrainGrace) return false;
  wake(first.ended_at + kDrainGrace);
  return true;
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
  v.rule = kEnd;  // no row: the table was not asked
  v.at = known_.now;
  say(v);
  close();
}

// --- after the verdict

void Look::wind_up(const Verdict& verdict) {
  // --deliver: with a node guilty, P's run elsewhere is the user's result.  With any other cause it is one
  // more failure.
  const bool keep = c_.options.deliver && verdict.cause == Cause::node;
  bool tries = false;
  if (keep)
    for (const Run& run : c_.programs) {
      if (run.id.n == 1) continue;
      if (!time_is_over()) {
        // With all the bounds of any re-run, and as many attempts: the user waits for it.
        drive_program(run.id.n);
        tries = tries || tries_again(known_, c_, run);
        wake(c_.programs.front().ended_at + known_.policy.case_limit);
      } else if (run.outcome == Outcome::pending) {
        // One that runs is bounded by its own time limit.
        cancel(run, "the time of the case is over");
      }
    }
  // The verdict may have come before the run that is to be the result: by what V said for another case.
  if (keep && c_.programs.size() == 1 && !time_is_over() && !c_.reruns.asking && why_no_rerun(c_).empty()) {
    if (has_claim(c_.programs.front())) drive_program(2);
    wake(c_.programs.front().ended_at + known_.policy.case_limit);
    tries = true;
  }
  if (cancel_own_runs("the verdict stands", keep) || tries) return;
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
      waiting = true;
      // Its job is over; its check is in the list, or has just been asked for and comes to it.
      if (run.outcome == Outcome::checking) continue;
      // With its --check, if it has one: that says whether it is a result at all.
      if ((run.is_program() || run.is_check()) && keep_programs) continue;
      // One without a job id yet is waited for: its submission may already be with Slurm.
      if (run.bound) cancel(run, why);
    }
  return waiting;
}

// --- what the engine itself puts down

void Look::say(const Verdict& said) {
  // Two answers always: without the second it would be read as one of a version that had one
  // (drain/apply.cc).
  Verdict v = said;
  if (!v.faulty) v.faulty.emplace();
  // decide() is asked after every event; only what is new to a reader goes into the journal.
  // A question is news also where the row is the old one.
  const bool same_question = !c_.reruns.checked || (c_.verdict && c_.verdict->next == v.next);
  if (c_.verdict && c_.verdict->rule == v.rule && c_.verdict->final == v.final &&
      c_.verdict->nodes == v.nodes && c_.verdict->confidence == v.confidence &&
      c_.verdict->faulty == v.faulty && c_.verdict->further == v.further && same_question)
    return;
  record(kVerdict, v.to_json());
}

void Look::close() {
  if (copies_are_gone()) record(kCaseClosed, Json::object());
}

void Look::record(std::string_view kind, Json body) {
  out_.records.push_back(new_event(c_.name(), kind, std::move(body)));
}

Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const Case& subject, TimePoint now) {
  return Look(cluster, {cluster.view, state, policy, now}, subject).result();
}

}  // namespace sickbay::identify
