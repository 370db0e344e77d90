// SPDX-License-Identifier: Apache-2.0
// The second answer of a verdict: which nodes were found faulty, by whom, and whether that is a reason to
// take them out.  It does not ask what the cause of the job was: a program with a bug may have met a faulty
// node, and a node may be faulty in a way that explains nothing.
#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/explains.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

Faulty by_verification(const Run& v, const NodeResult& r, const Verdict& cause) {
  Faulty f{r.node, r.peer, v.id.text(), "verification failed", r.reason, false};
  if (is_full(r)) {
    f.what = "file system full";
  } else if (r.result == "slow") {
    f.what = "slow";
    // V measures by a scale; only together with a job that ran out of time does it take a node out.
    f.drains = cause.final && r.peer.empty() && cause.cause == Cause::node && has_host(cause.nodes, r.node);
  } else {
    // Whatever P does elsewhere: the known-good program failed here, and has passed on another node.
    f.drains = r.peer.empty();
  }
  return f;
}

Faulty lost(const Run& p, const std::string& name, const Verdict& cause) {
  Faulty f{name, "", p.id.text(), "went down", "", false};
  for (const NodeNote& note : p.node_notes)
    if (note.node == name && note.what == NodeNote::What::lost) f.reason = note.reason;
  // Where the program may be what took it down, or nothing is sure, it is for people.
  f.drains = cause.final && cause.cause == Cause::node && cause.confidence > Confidence::low &&
             has_host(cause.nodes, name);
  return f;
}

}  // namespace

std::vector<Faulty> faulty_of(const Known& known, const Case& c, const Verdict& cause) {
  std::vector<Faulty> list;
  for (const Run& p : c.programs) {
    if (p.outcome == Outcome::failed)
      for (const std::string& name : p.lost_nodes()) list.push_back(lost(p, name, cause));
    const Run* v = c.check_of(p.id.n);
    // Nobody is found faulty by a V that has not shown that it can pass.
    if (v == nullptr || check_of(known, c, p.id.n) != Check::failed) continue;
    for (const NodeResult& r : v->results)
      if (convicts(r, time_matters(p))) list.push_back(by_verification(*v, r, cause));
  }
  return list;
}

}  // namespace sickbay::identify
