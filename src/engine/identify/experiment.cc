// SPDX-License-Identifier: Apache-2.0
// The experiment: which runs of P and V a case needs to tell program from node.
//
// Every step asks for what it needs from the facts alone, again in each look, and a step whose question was
// answered meanwhile asks for its end.  Source: paper 000, 2.2 step 4 and 2.4; doc/design/identify.md,
// "Flow".
#include <algorithm>

#include "engine/identify/look.h"
#include "engine/identify/placement.h"
#include "engine/identify/rerun.h"
#include "engine/identify/verdict.h"
#include "model/verbs.h"

namespace sickbay::identify {

void Look::experiment() {
  // P elsewhere and V here at the same time.  The paper requeues P and waits two minutes; the two runs need
  // different nodes, so nothing is gained by that.
  drive_program(2);
  drive_check(1);
  look_at_second_run();
  if (wants_third(known_, c_)) look_at_third_run();
  if (needs_control()) drive_check(0);
  // Also those that no step asks for any more: a run that is under way must be released or read to end.
  for (const Run& v : c_.verifications) follow(v);
  drop_idle_questions();
}

// V on r2's nodes starts as soon as they are known: beside r2 where cores are free, else right after it.
void Look::look_at_second_run() {
  const Run* r2 = c_.program(2);
  if (r2 == nullptr) return;
  if (r2->outcome == Outcome::failed) read_output(*r2);
  // Where speed is the question V must not slow down the run that it shall explain.
  const bool beside =
      r2->outcome == Outcome::running && c_.programs.front().symptom != Symptom::abnormal_time;
  // A run that never began, or that a person ended, has no outcome to explain; its next attempt goes to other
  // nodes.
  if (beside || (r2->outcome == Outcome::failed && !r2->never_began() && !r2->was_taken())) drive_check(2);
}

void Look::look_at_third_run() {
  drive_program(3);
  const Run* r3 = c_.program(3);
  if (r3 == nullptr) return;
  if (r3->outcome == Outcome::failed) read_output(*r3);
  if (r3->outcome == Outcome::running ||
      (r3->outcome == Outcome::failed && !r3->never_began() && !r3->was_taken()))
    drive_check(3);
}

void Look::drop_idle_questions() {
  // A verification whose question has gone away (its re-run completed) is not worth node time.
  for (int n = 2; n <= 3; ++n)
    if (const Run* run = c_.program(n); run && run->outcome == Outcome::ok)
      if (const Run* v = c_.check_of(n)) cancel(*v, "its re-run completed");
  // Nor is one of the nodes of an attempt that a later one has replaced.
  for (const Run& v : c_.verifications)
    if (const Run* judged = c_.program(v.checks); judged && v.wanted_at < judged->wanted_at)
      cancel(v, "its re-run was submitted anew");
}

void Look::drive_program(int n) {
  const Run* run = c_.program(n);
  if (run == nullptr) {
    if (may_run_again(n, 1)) submit_program(n, 1);
    return;
  }
  // A new attempt is a new key: the ledger would take the old one for done (decisions.md 15).
  if (tries_again(known_, c_, *run)) {
    if (may_run_again(n, run->attempt + 1)) submit_program(n, run->attempt + 1);
    return;
  }
  if (c_.reruns.answer == RerunWay::never) cancel(*run, c_.reruns.answered_by + " wants no second run");
  follow(*run);
  compare_inputs(*run);
  if (run->live() && run->outcome == Outcome::pending && run->release_done) {
    // Tried on 22.05: Slurm takes a held job that it has no nodes for, and holds it again when released.  It
    // would wait for good; cancelled, it may go once more with fewer nodes kept away (tries_again).
    if (run->bad_constraints) cancel(*run, "Slurm has no nodes for it besides those it must keep away from");
    // Nodes that are down, or in a reservation, may never come back: the verdict must not wait for them.
    else if (known_.now >= run->released_at + known_.policy.rerun_wait)
      cancel(*run, "it found no free nodes in time");
    else
      wake(run->released_at + known_.policy.rerun_wait);
  }
}

}  // namespace sickbay::identify
