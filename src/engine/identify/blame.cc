// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/blame.h"

namespace sickbay::identify {

std::vector<std::string> blamed_nodes(const Case& subject) {
  std::vector<std::string> names;
  if (!subject.verdict) return names;
  if (names_nodes(subject.verdict->cause)) names = subject.verdict->nodes;
  if (subject.verdict->faulty)
    for (const Faulty& f : *subject.verdict->faulty)
      if (f.peer.empty()) names.push_back(f.node);
  return names;
}

void set_verdict(State& state, Case& subject, Verdict verdict, TimePoint at) {
  drop_blame(state, subject);
  verdict.at = at;
  subject.verdict = std::move(verdict);
  for (const std::string& node : blamed_nodes(subject)) state.blamed[node].insert(subject.no);
}

void drop_blame(State& state, const Case& subject) {
  for (const std::string& node : blamed_nodes(subject)) {
    const auto it = state.blamed.find(node);
    if (it == state.blamed.end()) continue;  // named twice by one verdict
    it->second.erase(subject.no);
    if (it->second.empty()) state.blamed.erase(it);
  }
}

const std::set<std::int64_t>& blamers(const State& state, const std::string& node) {
  static const std::set<std::int64_t> kNone;
  const auto it = state.blamed.find(node);
  return it == state.blamed.end() ? kNone : it->second;
}

}  // namespace sickbay::identify
