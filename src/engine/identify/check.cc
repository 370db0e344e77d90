// SPDX-License-Identifier: Apache-2.0
// C(n): what V says of the nodes of a run.  Failed blames nodes, so it needs the most proof; whatever V could
// not say is unknown and blames nobody.  Source: decisions.md 22; doc/design/identify.md, "C is
// three-valued".
#include <algorithm>

#include "engine/identify/placement.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

// What V's results come to, taken by themselves.
struct Heard {
  std::vector<std::string> bad;  ///< nodes and first ends of links that V convicts
  bool all_ok = false;           ///< and no result is in want of anything
  bool passed_here = false;      ///< V has shown on one node of the set that it can pass
};
Heard heard(const Run& v, bool slow_counts) {
  Heard h;
  h.all_ok = !v.results.empty();
  for (const NodeResult& r : v.results) {
    if (r.result == "failed" || (slow_counts && r.result == "slow")) h.bad.push_back(r.node);
    if (r.result == "unknown" || r.result == "failed") h.all_ok = false;
    if (r.result == "ok" && r.peer.empty()) h.passed_here = true;
  }
  return h;
}

}  // namespace

Check check_of(const Known& known, const Case& c, int program_run) {
  const Run* v = c.check_of(program_run);
  const Run* p = c.program(program_run);
  if (v == nullptr) {
    // All nodes of the run are down: V has nowhere to speak.
    // The same where the run never had any.
    const bool nobody = p && ended(p->outcome) && p->down_nodes.size() == p->nodes.size();
    return nobody ? Check::unknown : Check::none;
  }
  // Open, not unknown: an answer is still to come, and no row may take its absence for one.
  if (!ended(v->outcome)) return Check::open;
  if (v->outcome == Outcome::lost && v->attempt < known.policy.verification_attempts) return Check::open;
  const bool ran =
      v->outcome != Outcome::not_started && v->outcome != Outcome::lost && v->job.start != kNoTime;
  if (ran && !v->output_read) return Check::open;

  const Heard h = heard(*v, p && time_matters(*p));
  if (h.bad.empty()) {
    if (!h.all_ok) return Check::unknown;
    // Acquitted is only a set of which V has judged every node: one that it left out may be the sick one.
    const auto judged = std::count_if(v->results.begin(), v->results.end(),
                                      [](const NodeResult& r) { return r.peer.empty(); });
    return static_cast<std::size_t>(judged) >= v->nodes.size() ? Check::ok : Check::unknown;
  }
  // V convicts only where it has shown that it can pass: else V itself, or what all nodes share, is broken.
  if (h.passed_here) return Check::failed;
  for (const auto& [name, node] : known.state.records)
    if (node.passed_at != kNoTime && known.now - node.passed_at < known.policy.control_age &&
        std::find(h.bad.begin(), h.bad.end(), name) == h.bad.end())
      return Check::failed;
  // A control run shows it.  Where it passes, its node is in the loop above; so here it has not, or not yet.
  const Run* control = c.check_of(0);
  if (control == nullptr) return control_node(known, c).empty() ? Check::unknown : Check::open;
  const bool spoke = control->output_read || control->job.start == kNoTime;
  return ended(control->outcome) && spoke ? Check::unknown : Check::open;
}

}  // namespace sickbay::identify
