// SPDX-License-Identifier: Apache-2.0
// The half of apply() that takes in our own commands: the intent, and how the effect ended.
//
// An intent is journaled before its effect begins (decisions.md 11), so a run is in the state from then on,
// also where a crash came between: decide() must not ask for it twice.
#include <algorithm>

#include "base/hostlist.h"
#include "engine/cluster/heard_results.h"
#include "engine/identify/apply.h"
#include "engine/identify/evidence.h"
#include "engine/identify/join.h"
#include "engine/identify/rerun.h"
#include "model/verbs.h"

namespace sickbay::identify {

void note_once(Case& c, std::string note) {
  if (std::ranges::find(c.notes, note) == c.notes.end()) c.notes.push_back(std::move(note));
}

Run* run_in(Case& c, const RunId& id) {
  auto& runs = c.runs(id.kind);
  return id.n >= 1 && id.n <= static_cast<int>(runs.size()) ? &runs[static_cast<std::size_t>(id.n - 1)]
                                                            : nullptr;
}

void name_by_job(State& s, Case& c, JobId job) {
  s.by_job[job] = c.no;
  if (c.jobs.empty() || c.jobs.back() != job) c.jobs.push_back(job);
}

Run& put_run(Case& c, const RunId& id) {
  auto& runs = c.runs(id.kind);
  while (static_cast<int>(runs.size()) < id.n) runs.emplace_back();
  Run& run = runs[static_cast<std::size_t>(id.n - 1)];
  // All that an attempt before it left would speak of another job; only where the run can never begin holds
  // for the next one as well.
  std::vector<std::string> not_begun_on = run.never_began_on();
  const int spent = run.is_verification() ? run.tries() : run.refusals();
  run = Run{};
  run.spent = spent;
  run.id = id;
  run.not_begun_on = std::move(not_begun_on);
  return run;
}

void finish(Run& run, Outcome outcome, TimePoint at) {
  run.outcome = outcome;
  // The first stamp stays: a job is seen more than once while it completes, and times run from its end.
  if (ended(outcome) && run.ended_at == kNoTime) run.ended_at = at;
}

void settle_result(Case& c, const Run& check) {
  if (!check.is_check() || !ended(check.outcome) || check.checks < 1 ||
      check.checks > static_cast<int>(c.programs.size()))
    return;
  Run& run = c.programs[static_cast<std::size_t>(check.checks - 1)];
  if (run.outcome != Outcome::checking) return;
  // A check that could not be run is no proof of a failure: the job was COMPLETED.
  run.outcome = Outcome::ok;
  if (check.outcome == Outcome::failed) {
    run.outcome = Outcome::failed;
    run.symptom = Symptom::wrong_result;
  } else if (check.outcome != Outcome::ok) {
    c.notes.push_back("the check of " + run.id.text() + " said nothing (" +
                      std::string(to_string(check.outcome)) + "): its result is taken as good");
  }
}

namespace {

// The run that a key is about: "c17.r2.a1:release" -> c17.r2, attempt 1.  Null for other keys and old
// attempts, whose late answers must not be taken for those of the new one.
Run* run_of_key(Case& c, std::string_view key) {
  const std::size_t dot = key.rfind(".a");
  if (dot == std::string_view::npos) return nullptr;
  const auto id = parse_run_id(key.substr(0, dot));
  Run* run = id ? run_in(c, *id) : nullptr;
  return run && key.substr(0, key.find(':')) == run->key() ? run : nullptr;
}

}  // namespace

void on_intent(State& s, const cluster::View&, Case* c, const Event& e) {
  if (c == nullptr || take_preparation(*c, e)) return;
  const std::string& did = e.body["verb"].as_string();
  const Json& args = e.body["args"];
  if (did == verb::kSubmitProgram || did == verb::kSubmitVerification) {
    const auto id = parse_run_id(args["run"].as_string());
    if (!id) return;
    // Asked before the place is made anew, which forgets it.
    const Run* before = run_in(*c, *id);
    const bool again_elsewhere = before && before->is_program() && before->never_began();
    Run& run = put_run(*c, *id);
    if (again_elsewhere)
      c->notes.push_back(id->text() + " never began on " + compress_hostlist(run.not_begun_on) +
                         ", where its output could not be opened, and was submitted again elsewhere");
    run.attempt = static_cast<int>(args["attempt"].as_int(1));
    run.checks = static_cast<int>(args["checks"].as_int());
    run.excluded = args["exclude"].as_strings();
    run.reused = args["reused"].as_strings();
    run.output_dir = args["output_dir"].as_string();
    run.wanted_at = e.at;
    note_rerun(s, *c, *id, e.at);
    run.job.uid = static_cast<std::uint32_t>(args["uid"].as_int());
    run.alone = args["exclusive"].as_bool(true);
    if (run.is_verification()) run.job.reservation = args["reservation"].as_string();
    // V runs on exactly the nodes that it was given; where a program ran, only Slurm can say.
    if (run.is_verification()) run.nodes = args["nodes"].as_strings();
  } else if (Run* run = run_of_key(*c, e.body["key"].as_string())) {
    // Until the answer it counts as not released: what Slurm shows of it may be from before.
    if (did == verb::kRelease) ++run->releases, run->release_done = false;
    if (did == verb::kCancel && e.body["key"].as_string().ends_with(kTakeAway)) {
      run->is_held = false;
    } else if (did == verb::kCancel) {
      // For good: a cancel that is under way is not overtaken by a release.
      run->cancel_wanted = true;
      if (run->refusal.empty()) run->refusal = args["why"].as_string();
    }
  }
}

// What an effect brought back: a job id (submit), the moment from which it may start (release), what a run
// left behind (read_output), from which nearly all that is known of nodes comes.
void on_done(State& s, const cluster::View& view, Case* c, const Event& e) {
  if (c != nullptr && take_preparation(*c, e)) return;
  Run* run = c ? run_of_key(*c, e.body["key"].as_string()) : nullptr;
  if (run == nullptr) return;
  const std::string& did = e.body["verb"].as_string();
  const Json& result = e.body["result"];
  if (did == verb::kSubmitProgram || did == verb::kSubmitVerification) {
    run->bound = true;
    run->job.job_id = static_cast<JobId>(result["job_id"].as_int());
    run->job.submit = from_micros(result["submit"].as_int());
    // (Of a verification: the service's account is the verb's to know.)
    if (result.has("uid")) run->job.uid = static_cast<std::uint32_t>(result["uid"].as_int());
    // Told once, though each re-run drops the same options of the user's (decisions.md 19).
    for (const Json& dropped : result["dropped"].items())
      note_once(*c, dropped.as_string() + " was dropped: a re-run must be free to choose");
  } else if (did == verb::kRelease) {
    run->release_done = true;
    run->released_at = e.at;
    // A slurmctld with another boot time may have forgotten the release (follow()).
    run->released_boot = view.controller_boot;
  } else if (did == verb::kReadOutput) {
    run->output_read = true;
    if (const Json& t = result["trace"]; t.is_object()) {
      run->trace = Trace{static_cast<int>(t["rank"].as_int(-1)),
                         t["node"].as_string(),
                         static_cast<int>(t["signal"].as_int()),
                         t["signal_name"].as_string(),
                         t["out_of_memory"].as_bool(),
                         t["message"].as_string(),
                         t["last_lines"].as_strings(),
                         t["cause"].as_string(),
                         telling_from(t["cause_tells"].as_string())};
      // Where a step dies for want of memory and the batch script merely hands on srun's exit code, Slurm
      // ends the job as FAILED (tried on 22.05); only the output tells.
      if (run->trace->out_of_memory && run->is_program() && run->outcome == Outcome::failed &&
          run->symptom == Symptom::abnormal_exit) {
        if (run->id.n == 1) forget_kind(s, *c);  // while it is still told by how it failed
        run->outcome = Outcome::out_of_memory;
        run->symptom = Symptom::none;
      }
    }
    // Kept with the case, and with the node: other cases keep their re-runs away from it, and a pass shows
    // that V works on this cluster (decisions.md 22).  Links are the case's own matter.
    const Json results = cluster::hear_results(view, s.speeds, result["results"]);
    for (const Json& r : results.items()) {
      NodeResult heard{r["node"].as_string(),   r["peer"].as_string(),  r["result"].as_string(),
                       r["reason"].as_string(), r["fault"].as_string(), ""};
      run->results.push_back(heard);
      if (!heard.peer.empty()) continue;
      NodeRecord& node = s.records[heard.node];
      // A slow node did all its work rightly: V itself is sound.
      if (heard.result == "ok" || heard.result == "slow") node.passed_at = e.at;
      if (heard.result == "failed") node.failed_at = e.at, node.failed_case = c->no;
    }
    remember_words(s, *c, *run);
    if (run->results.empty() && run->is_verification() && run->refusal.empty())
      run->refusal = result["why"].as_string_or("V left no result");
  }
  settle_result(*c, *run);
}

// The service has given up on a command.  Each verb leaves the case in a state in which it goes on: a run
// that is not there, an output that counts as read.
void on_failed(State&, const cluster::View&, Case* c, const Event& e) {
  if (c != nullptr && take_preparation(*c, e)) return;
  Run* run = c ? run_of_key(*c, e.body["key"].as_string()) : nullptr;
  if (run == nullptr) return;
  const std::string& did = e.body["verb"].as_string();
  const std::string& what = e.body["error"]["what"].as_string();
  if (did == verb::kSubmitProgram || did == verb::kSubmitVerification) {
    // The service has tried what may be tried (decisions.md 15): for this order it is Slurm's last word.
    finish(*run, Outcome::not_started, e.at);
    run->refusal = what;
    if (run->is_verification() && !run->job.reservation.empty()) note_reservation(*c, *run);
  } else if (did == verb::kRelease && !ended(run->outcome)) {
    // A job that cannot be released is gone, or not ours any more: lost, so that it is submitted anew.
    finish(*run, Outcome::lost, e.at);
    run->refusal = what;
  } else if (did == verb::kReadOutput) {
    // Read as far as it can be: the case must not wait for a file that is gone.
    run->output_read = true;
    // Where we had cancelled it, that is why it says nothing; it may not have had the time to write a line.
    if (run->was_cancelled_by_us()) return settle_result(*c, *run);
    if (run->is_verification()) run->refusal = what;
    c->notes.push_back("the output of " + run->id.text() + " could not be read: " + what);
  } else if (did == verb::kCancel && !ended(run->outcome)) {
    // The case goes on without it and says so; waiting for it would keep the case open for good.
    finish(*run, Outcome::cancelled, e.at);
    run->bad_constraints = false;  // it may still stand in the queue: no second one beside it
    c->notes.push_back(run->id.text() + " (job " + std::to_string(run->job.job_id) +
                       ") could not be cancelled: " + what);
  }
  settle_result(*c, *run);
}

}  // namespace sickbay::identify
