// SPDX-License-Identifier: Apache-2.0
// The experiment: which runs of P and V a case needs to tell program from node.
//
// Every step asks for what it needs from the facts alone, again in each look, and a step whose question was
// answered meanwhile asks for its end.  Source: paper 000, 2.2 step 4 and 2.4; doc/design/identify.md,
// "Flow".
#include <algorithm>

#include "engine/identify/look.h"
#include "engine/identify/placement.h"
#include "engine/identify/verdict.h"
#include "model/verbs.h"

namespace sickbay::identify {

void Look::experiment() {
  // P elsewhere and V here at the same time.  The paper requeues P and waits two minutes; the two runs need
  // different nodes, so nothing is gained by that.
  if (c_.options.rerun) drive_program(2);
  drive_check(1);
  look_at_second_run();
  if (needs_third()) look_at_third_run();
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
  // A run that never began has no outcome to explain; its next attempt goes to other nodes.
  if (beside || (r2->outcome == Outcome::failed && !r2->never_began())) drive_check(2);
}

// With S1 acquitted and S2 convicted, A1 is still unexplained: does P fail on its own as well?
bool Look::needs_third() const {
  if (known_.policy.max_reruns < 2) return false;
  const Facts f = facts_of(known_, c_);
  return f.a1 == a_fail && f.c1 == c_ok && (f.a2 == a_fail || f.a2 == a_down) && f.c2 == c_failed;
}

void Look::look_at_third_run() {
  drive_program(3);
  const Run* r3 = c_.program(3);
  if (r3 == nullptr) return;
  if (r3->outcome == Outcome::failed) read_output(*r3);
  if (r3->outcome == Outcome::running || (r3->outcome == Outcome::failed && !r3->never_began()))
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
  if (run == nullptr) return submit_program(n, 1, false);
  // A new attempt is a new key: the ledger would take the old one for done (decisions.md 15).
  if (tries_again(known_, c_, *run)) return submit_program(n, run->attempt + 1, run->refused_its_nodes());
  follow(*run);
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

std::vector<std::string> Look::nodes_to_verify(int n) const {
  std::vector<std::string> nodes;
  if (n == 0) {
    if (std::string name = control_node(known_, c_); !name.empty()) nodes.push_back(std::move(name));
  } else if (const Run* p = c_.program(n)) {
    // On a node that is down V would wait in the queue.  It is left out, and cannot be acquitted thereby.
    for (const std::string& name : p->nodes)
      if (!known_.view.is_down(name)) nodes.push_back(name);
  }
  return nodes;
}

void Look::drive_check(int n) {
  const Run* v = c_.check_of(n);
  if (v == nullptr) {
    const std::vector<std::string> nodes = nodes_to_verify(n);
    // No node to ask on: check_of() makes it unknown, or the control's question stays without an answer.
    if (!nodes.empty()) submit_verification(n, static_cast<int>(c_.verifications.size()) + 1, 1, nodes);
    return;
  }
  follow(*v);
  give_up_waiting(*v, c_.program(n));
  if (!verifies_again(known_.policy, c_, *v)) return;
  // One that Slurm lost is not to blame for it and goes again at once.  Else what kept V away (full nodes,
  // storage) gets time to pass.
  const TimePoint when = v->ended_at + (v->outcome == Outcome::lost ? std::chrono::seconds(0)
                                                                    : known_.policy.verification_retry);
  if (known_.now >= when)
    submit_verification(n, v->id.n, v->attempt + 1, v->nodes);
  else
    wake(when);
}

// A conviction is open because no other node has shown that V can pass (decisions.md 22).
bool Look::needs_control() const {
  for (int n = 1; n <= 3; ++n)
    if (check_of(known_, c_, n) == Check::open)
      if (const Run* v = c_.check_of(n); v && ended(v->outcome) && v->output_read) return true;
  return false;
}

}  // namespace sickbay::identify
