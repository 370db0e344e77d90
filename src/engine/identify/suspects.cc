// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/suspects.h"

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/blame.h"
#include "engine/identify/verification.h"

namespace sickbay::identify {
namespace {

void suspect(State& state, Case& subject, const Run& run, const std::string& node, TimePoint at) {
  const bool known = std::any_of(subject.suspects.begin(), subject.suspects.end(), [&](const Suspect& s) {
    return s.node == node && s.run == run.id && s.cleared_at == kNoTime;
  });
  // A second silence of the same node is a suspect of its own: each has its times.
  if (!known) subject.suspects.push_back({node, run.id, at, kNoTime});
  if (!subject.is_closed()) state.suspected[node].insert(subject.no);
}

void answered(Case& subject, const std::string& node, TimePoint at) {
  for (Suspect& s : subject.suspects)
    if (s.node == node && s.cleared_at == kNoTime) s.cleared_at = at;
}

bool is_on(const Run& run, const std::string& node) {
  return std::find(run.nodes.begin(), run.nodes.end(), node) != run.nodes.end();
}

}  // namespace

std::vector<std::string> nodes_in_doubt(const Known& known, const Case& subject) {
  std::vector<std::string> names;
  const Run* first = subject.program(1);
  if (first == nullptr || first->outcome != Outcome::failed || known.now >= first->ended_at + kLateDown)
    return names;
  for (const std::string& name : first->nodes)
    if (const cluster::Node* node = known.view.node(name); node != nullptr && node->silent())
      names.push_back(name);
  if (names.empty()) return names;  // as nearly always: this is asked after every event
  return hosts_without(sorted_hosts(std::move(names)), judged_nodes(subject, 1));
}

void note_silence(State& state, const cluster::View& view, TimePoint at) {
  for (const cluster::View::Change& change : view.changes) {
    const cluster::Node* node = view.node(change.name);
    const bool silent = node != nullptr && node->silent();
    // One that is given up (DOWN) has not answered: its silence has no end until it is back.
    const bool answers = node != nullptr && !silent && !node->down;
    if (answers) {
      // (Nodes answer all the time: only the cases that wait for this one are looked at.)
      if (const auto it = state.suspected.find(change.name); it != state.suspected.end()) {
        for (const std::int64_t no : it->second) answered(state.cases.at(no), change.name, at);
        state.suspected.erase(it);
      }
      continue;
    }
    if (!silent) continue;
    for (const std::int64_t no : state.open) {
      Case& subject = state.cases.at(no);
      for (const auto* runs : {&subject.programs, &subject.verifications})
        for (const Run& run : *runs)
          if (run.outcome == Outcome::running && is_on(run, change.name))
            suspect(state, subject, run, change.name, at);
    }
  }
}

void suspect_silent(State& state, Case& subject, const Run& run, const cluster::View& view, TimePoint at) {
  if (run.outcome != Outcome::running) return;
  for (const std::string& name : run.nodes)
    if (const cluster::Node* node = view.node(name); node != nullptr && node->silent())
      suspect(state, subject, run, name, at);
}

void index_suspects(State& state, const Case& subject) {
  for (const Suspect& s : subject.suspects)
    if (s.cleared_at == kNoTime) state.suspected[s.node].insert(subject.no);
}

void drop_suspects(State& state, const Case& subject) {
  for (const Suspect& s : subject.suspects) {
    const auto it = state.suspected.find(s.node);
    if (it == state.suspected.end()) continue;
    it->second.erase(subject.no);
    if (it->second.empty()) state.suspected.erase(it);
  }
}

const std::set<std::int64_t>& suspecting(const State& state, const std::string& node) {
  static const std::set<std::int64_t> kNone;
  const auto it = state.suspected.find(node);
  return it == state.suspected.end() ? kNone : it->second;
}

std::vector<std::pair<std::int64_t, TimePoint>> suspected_in(const State& state, const std::string& node,
                                                             std::size_t most) {
  std::vector<std::pair<std::int64_t, TimePoint>> found;
  for (const std::int64_t no : newest(suspecting(state, node), most).first)
    for (const Suspect& s : state.cases.at(no).suspects)
      if (s.node == node && s.cleared_at == kNoTime && (found.empty() || found.back().first != no))
        found.emplace_back(no, s.at);
  return found;
}

}  // namespace sickbay::identify
