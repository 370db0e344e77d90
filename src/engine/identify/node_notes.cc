// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/node_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"

namespace sickbay::identify {
namespace {

using What = NodeNote::What;

// Drains of ours are in the journal with their finding or case, and are told from there.
constexpr std::string_view kOurReasons = "sickbay:";

void add(Run& run, const std::string& name, const cluster::Node& node, What what, bool while_it_ran) {
  if (!node.reason || (what == What::drained && node.reason->text.starts_with(kOurReasons))) return;
  const bool known = std::any_of(run.node_notes.begin(), run.node_notes.end(),
                                 [&](const NodeNote& n) { return n.node == name && n.what == what; });
  if (!known) run.node_notes.push_back({name, what, node.reason->text, node.reason->uid, while_it_ran});
}

What down_note(const cluster::Node& node) { return node.down_by == DownBy::slurm ? What::lost : What::taken; }

}  // namespace

void note_nodes_at_end(const cluster::View& view, Run& run) {
  for (const std::string& name : run.nodes) {
    const cluster::Node* node = view.node(name);
    if (node == nullptr) continue;
    // A person's DOWN that is seen with the end of the run ended it, where Slurm says that a node did.
    if (node->down)
      add(run, name, *node, down_note(*node), run.symptom == Symptom::node_dead);
    else if (node->drained)
      add(run, name, *node, What::drained, true);
  }
}

void note_node_changes(State& state, const cluster::View& view, TimePoint at, std::chrono::seconds late) {
  for (const cluster::View::Change& change : view.changes) {
    const cluster::Node* node = view.node(change.name);
    if (node == nullptr) continue;
    const bool went_down = node->down && !(change.before && change.before->down);
    const bool drained = node->drained && !(change.before && change.before->drained);
    if (!went_down && !drained) continue;
    for (const std::int64_t no : state.open)
      for (Run& run : state.cases.at(no).programs) {
        const bool lately = run.outcome == Outcome::failed && at - run.ended_at < late;
        if ((run.outcome != Outcome::running && !lately) || !has_host(run.nodes, change.name)) continue;
        const bool ended_it =
            run.outcome == Outcome::running || (run.symptom == Symptom::node_dead && run.down_nodes.empty());
        if (went_down)
          add(run, change.name, *node, down_note(*node), ended_it);
        else
          add(run, change.name, *node, What::drained, run.outcome == Outcome::running);
      }
  }
}

std::string words_of(const NodeNote& note) {
  const std::string reason = note.reason.empty() ? "no reason given" : note.reason;
  switch (note.what) {
    case What::lost:
      return fmt::format("Slurm set it DOWN: {}", reason);
    case What::taken:
      return fmt::format("was set DOWN by a person{} (uid {}: {})", note.while_it_ran ? "" : " afterwards",
                         note.uid, reason);
    case What::drained:
      return fmt::format("{} (uid {}: {})", note.while_it_ran ? "was drained then" : "was drained afterwards",
                         note.uid, reason);
  }
  return reason;
}

}  // namespace sickbay::identify
