// SPDX-License-Identifier: Apache-2.0
// C(n): what V says of the nodes of a run.  Failed blames nodes, so it needs the most proof; whatever V could
// not say is unknown and blames nobody.  Source: decisions.md 22; doc/design/identify.md, "C is
// three-valued".
#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/explains.h"
#include "engine/identify/fingerprints.h"
#include "engine/identify/locating.h"
#include "engine/identify/placement.h"
#include "engine/identify/verdict.h"
#include "engine/identify/verification.h"

namespace sickbay::identify {
namespace {

// What V's results come to, taken by themselves.
struct Heard {
  std::vector<std::string> bad;  ///< nodes and first ends of links that V convicts
  bool all_ok = false;           ///< and no result is in want of anything
  bool passed_here = false;      ///< V has shown on one node of the set that it can pass
};
Heard heard(const Run& v, const Run* p) {
  Heard h;
  h.all_ok = !v.results.empty();
  for (const NodeResult& r : v.results) {
    if (r.result == "ok" && r.peer.empty()) h.passed_here = true;
    // Of a third node that was asked which end of a link is at fault no more than that is of interest here.
    if (p && !concerns(r, *p)) continue;
    if (p ? is_bad(r, *p) : convicts(r, false)) h.bad.push_back(r.node);
    if (r.result == "unknown" || r.result == "failed") h.all_ok = false;
  }
  return h;
}

// V passed on a node besides `bad` within Policy::control_age of `when`.  By the time of the run that
// convicts, not by now: a conviction that stood must not go away while its case waits.  The words hold the
// passes that a later one has taken out of the record.
bool passed_near(const Known& known, TimePoint when, const std::vector<std::string>& bad) {
  const auto counts = [&](const std::string& name, TimePoint passed) {
    return passed != kNoTime && std::chrono::abs(passed - when) < known.policy.control_age &&
           std::find(bad.begin(), bad.end(), name) == bad.end();
  };
  for (const auto& [name, node] : known.state.records)
    if (counts(name, node.passed_at)) return true;
  for (const auto& [name, words] : known.state.words)
    for (const Word& word : words)
      if (word.result != "failed" && counts(name, word.began)) return true;
  return false;
}

bool has_passed(const Run& control) {
  return std::any_of(control.results.begin(), control.results.end(), [](const NodeResult& r) {
    return r.peer.empty() && (r.result == "ok" || r.result == "slow");
  });
}

}  // namespace

Check check_of(const Known& known, const Case& c, int program_run) {
  const Run* v = c.check_of(program_run);
  const Run* p = c.program(program_run);
  if (v == nullptr) {
    // All nodes of the run are out of service: V has nowhere to speak.  The same where the run never had any.
    const bool nobody = p && ended(p->outcome) && nodes_to_verify(known, c, program_run).empty();
    return nobody ? Check::unknown : Check::none;
  }
  // Open, not unknown: an answer is still to come, and no row may take its absence for one.
  if (!ended(v->outcome)) return Check::open;
  if (v->outcome == Outcome::lost && v->attempt < known.policy.verification_attempts) return Check::open;
  if (is_unread(*v)) return Check::open;
  if (is_locating(known, c, program_run)) return Check::open;

  // Which end of a bad link is at fault is being asked.
  if (wants_witness(known, c, program_run)) return Check::open;
  const Heard h = heard(*v, p);
  if (h.bad.empty()) {
    if (!h.all_ok) return Check::unknown;
    // Acquitted is only a set of which V has judged every node: one that it left out may be the sick one.
    if (p == nullptr) return Check::ok;
    const std::vector<std::string> left = hosts_without(p->nodes, judged_nodes(c, program_run));
    if (left.empty()) return Check::ok;
    // V goes on with those that it can be asked about now.
    return nodes_to_verify(known, c, program_run).empty() || !may_try_more(known, c, program_run)
               ? Check::unknown
               : Check::open;
  }
  // V convicts only where it has shown that it can pass: else V itself, or what all nodes share, is broken.
  if (h.passed_here) return Check::failed;
  if (passed_near(known, v->job.start != kNoTime ? v->job.start : v->ended_at, h.bad)) return Check::failed;
  // A control run shows it, however late it ran.
  const Run* control = c.check_of(0);
  if (control != nullptr && has_passed(*control)) return Check::failed;
  if (control == nullptr) return control_node(known, c).empty() ? Check::unknown : Check::open;
  const bool spoke = control->output_read || control->job.start == kNoTime;
  return ended(control->outcome) && spoke ? Check::unknown : Check::open;
}

C check_column(const Known& known, const Case& c, int n) {
  switch (check_of(known, c, n)) {
    case Check::ok:
      return c_ok;
    case Check::unknown:
      return c_unknown;
    case Check::failed:
      break;
    default:
      return c_open;
  }
  // V convicts somebody.  Of what, and whether that can be why P failed?
  const Run& v = *c.check_of(n);
  const Run* p = c.program(n);
  if (p == nullptr || p->outcome != Outcome::failed) return c_failed;
  const std::string named = n == 1 ? named_node(*p) : "";
  bool explained = false, all_full = true;
  for (const NodeResult& r : v.results) {
    if (!is_bad(r, *p)) continue;
    all_full = all_full && is_full(r);
    if (!explains(r, *p)) continue;
    explained = true;
    if (r.peer.empty() && r.node == named) return c_named;
  }
  if (explained) return c_failed;
  // What was found does not explain it, and the rest is acquitted only where V has judged all of it.
  if (!hosts_without(p->nodes, judged_nodes(c, n)).empty()) return c_unknown;
  return all_full ? c_full : c_unrelated;
}

}  // namespace sickbay::identify
