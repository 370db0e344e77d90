// SPDX-License-Identifier: Apache-2.0
// apply(): what nodes told, what was told of them, and who is gone.
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/fleet/fleet.h"
#include "model/event_kinds.h"
#include "model/ids.h"

namespace sickbay::fleet {
namespace {

constexpr std::size_t kMostFacts = 256;  ///< of one node: an agent bounds them, another sender may not
/// What a node has lacked for so long it need not have had: that nodes lack it now says as much.
constexpr std::chrono::hours kLackIsOld{24};

/// Versions come and go for years, and so do names of mounts.
void forget_unused_words(State& state) {
  std::vector<bool> used(state.words.size());
  const auto use = [&](int word) {
    if (word != kLacks) used[static_cast<std::size_t>(word)] = true;
  };
  for (const auto& [name, node] : state.nodes)
    for (const Fact& fact : node.facts) use(fact.name), use(fact.value), use(fact.before);
  const std::vector<int> now = state.words.keep(used);
  const auto renumber = [&](int& word) {
    if (word != kLacks) word = now[static_cast<std::size_t>(word)];
  };
  for (auto& [name, node] : state.nodes)  // (their order stays, for that of the numbers does)
    for (Fact& fact : node.facts) renumber(fact.name), renumber(fact.value), renumber(fact.before);
}

/// Takes in a whole report: what it does not name any more is lacking from now on.
bool take_facts(State& state, const std::string& name, const Json& facts, TimePoint at) {
  auto [it, is_new] = state.nodes.try_emplace(name);
  Node& node = it->second;
  if (is_new) node.first = at;
  bool changed = is_new;
  std::vector<std::pair<int, int>> told;
  for (const auto& [fact, value] : facts.members())
    if (value.is_string() && told.size() < kMostFacts)
      told.emplace_back(state.words.number(fact), state.words.number(value.as_string()));
  std::ranges::sort(told);
  // Both lists are in the order of the numbers of names, so one walk over both tells what is new, changed or
  // gone.
  std::vector<Fact> next;
  auto old = node.facts.begin();
  const auto lose = [&](const Fact& fact) {
    // Forgotten for good: else every mount that ever was would stay in the state.
    if (fact.value == kLacks && fact.since + kLackIsOld < at) return;
    next.push_back(fact);
    if (fact.value == kLacks) return;
    next.back() = {.name = fact.name, .value = kLacks, .before = fact.value, .since = at, .moved = true};
    changed = true;
  };
  for (const auto& [fact, value] : told) {
    for (; old != node.facts.end() && old->name < fact; ++old) lose(*old);
    if (old == node.facts.end() || old->name != fact) {
      next.push_back({.name = fact, .value = value, .since = at, .moved = false});
      changed = true;
      continue;
    }
    next.push_back(*old);
    if (old->value != value) {
      next.back() = {.name = fact, .value = value, .before = old->value, .since = at, .moved = true};
      changed = true;
    }
    ++old;
  }
  for (; old != node.facts.end(); ++old) lose(*old);
  node.facts = std::move(next);
  if (state.words.are_many()) forget_unused_words(state);
  return changed;
}

Kind kind_from(const std::string& word) { return word == "rollout" ? Kind::rollout : Kind::odd; }

}  // namespace

int Words::number(std::string_view word) {
  if (const auto it = numbers_.find(word); it != numbers_.end()) return it->second;
  const auto [it, added] = numbers_.emplace(std::string(word), static_cast<int>(words_.size()));
  words_.push_back(&it->first);
  return it->second;
}

std::vector<int> Words::keep(const std::vector<bool>& used) {
  std::vector<int> now(words_.size(), -1);
  std::vector<const std::string*> kept;
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (used[i]) {
      now[i] = static_cast<int>(kept.size());
      kept.push_back(words_[i]);
    }
  std::erase_if(numbers_, [&](const auto& entry) { return !used[static_cast<std::size_t>(entry.second)]; });
  for (auto& [word, number] : numbers_) number = now[static_cast<std::size_t>(number)];
  words_ = std::move(kept);
  // Twice what is left: so the walk over all nodes is paid for by as many new words.
  many_ = std::max(kFew, 2 * words_.size());
  return now;
}

int Words::find(std::string_view word) const {
  const auto it = numbers_.find(word);
  return it == numbers_.end() ? -1 : it->second;
}

const Fact* Node::fact(int name) const {
  const auto it = std::ranges::lower_bound(facts, name, {}, &Fact::name);
  return it != facts.end() && it->name == name ? &*it : nullptr;
}

Json Told::to_json() const {
  return Json::object({{"what", kind == Kind::rollout ? "rollout" : "odd"},
                       {"class", of_class},
                       {"fact", fact},
                       {"value", value},
                       {"usual", usual},
                       {"nodes", compress_hostlist(nodes)},
                       {"agree", agree},
                       {"severity", severity},
                       {"text", text}});
}

Told Told::from_json(const Json& json) {
  Told told;
  told.kind = kind_from(json["what"].as_string());
  told.of_class = json["class"].as_string();
  told.fact = json["fact"].as_string();
  told.value = json["value"].as_string();
  told.usual = json["usual"].as_string();
  if (auto nodes = expand_hostlist(json["nodes"].as_string())) told.nodes = sorted_hosts(std::move(*nodes));
  told.agree = static_cast<std::size_t>(std::max<std::int64_t>(0, json["agree"].as_int()));
  told.severity = json["severity"].as_string();
  told.text = json["text"].as_string();
  return told;
}

bool apply(State& state, const cluster::View& view, const Event& event) {
  if (event.kind == kFactsSeen) {
    const std::string name(node_of_subject(event.subject));
    return !name.empty() && take_facts(state, name, event.body["facts"], event.at);
  }
  if (event.kind == kFleetOdd) {
    const std::string& key = event.body["key"].as_string();
    const auto before = state.told.find(key);
    if (event.body["over"].as_bool()) {
      if (before != state.told.end()) state.told.erase(before);
      return false;
    }
    Told told = Told::from_json(event.body);
    // Told anew in other words it is still the same finding, as old as it was.
    told.since = before == state.told.end() ? event.at : before->second.since;
    state.told[key] = std::move(told);
    return false;
  }
  bool changed = false;
  if (event.kind == kNodesSeen)
    for (const cluster::View::Change& change : view.changes)
      if (change.gone) changed = state.nodes.erase(change.name) > 0 || changed;
  return changed;
}

std::map<std::string, Json> views(const State& state, const std::string* only) {
  std::map<std::string, Json> all;
  for (const auto& [key, told] : state.told) {
    if (told.kind != Kind::odd) continue;
    if (only != nullptr && std::ranges::find(told.nodes, *only) == told.nodes.end()) continue;
    const Json view = Json::object({{"fact", told.fact},
                                    {"value", told.value},
                                    {"usual", told.usual},
                                    {"severity", told.severity},
                                    {"text", told.text},
                                    {"since", to_micros(told.since)}});
    for (const std::string& node : told.nodes)
      if (only == nullptr || node == *only) all.try_emplace(node, Json::array()).first->second.push(view);
  }
  return all;
}

std::string canonical_text(const State& state) {
  std::string text;
  for (const auto& [name, node] : state.nodes) {
    text += fmt::format("fleet {} first={}", name, to_micros(node.first));
    // By their names and not by their numbers, which tell in what order words were heard.
    std::map<std::string_view, const Fact*> facts;
    for (const Fact& fact : node.facts) facts.emplace(state.words.word(fact.name), &fact);
    const auto word = [&](int value) { return value == kLacks ? std::string("-") : state.words.word(value); };
    for (const auto& [fact, f] : facts)
      text += fmt::format(" {}={}<{}@{}{}", fact, word(f->value), word(f->before), to_micros(f->since),
                          f->moved ? "!" : "");
    text += "\n";
  }
  for (const auto& [key, told] : state.told)
    text += fmt::format("fleet told {} since={} {}\n", key, to_micros(told.since), told.to_json().dump());
  return text;
}

}  // namespace sickbay::fleet
