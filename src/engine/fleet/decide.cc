// SPDX-License-Identifier: Apache-2.0
// decide(): what is odd now, and what of it is news.
//
// Each class is gone through fact by fact: how many have which value, which one is usual, and who has
// another. Versions are left alone while they roll (rollouts below).  What comes out is compared with what
// was told, so that each finding and each end of one is one record.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "base/robust.h"
#include "engine/fleet/classes.h"
#include "engine/fleet/facts.h"
#include "model/event_kinds.h"

namespace sickbay::fleet {
namespace {

constexpr std::size_t kMostNamed = 12;  ///< nodes in a sentence: more are counted

/// One node's word on one fact.
struct Word {
  const std::string* node = nullptr;
  int value = kLacks;
  TimePoint since = kNoTime;  ///< when it came to be so
};

class Comparison {
 public:
  Comparison(const State& state, const Policy& policy, TimePoint now)
      : state_(state), policy_(policy), now_(now) {}

  Decision result() {
    if (policy_.on) {
      find_rollouts();
      for (const Class& each : find_classes(state_)) compare_class(each);
      compare_clocks();
    }
    tell();
    return std::move(out_);
  }

 private:
  /// Not before it has stood for a while; asks to be asked again when it has.
  bool settled(TimePoint since) {
    if (now_ >= since + policy_.settle) return true;
    out_.wake_at = std::min(out_.wake_at, since + policy_.settle);
    return false;
  }

  // --- rollouts

  /// Values that nodes have moved to of late: each is one rollout, through all classes.
  void find_rollouts() {
    struct Moved {
      std::map<int, std::size_t> from;
      std::vector<std::string> nodes;
      TimePoint last = kNoTime;
    };
    std::map<std::pair<int, int>, Moved> moved;
    for (const auto& [name, node] : state_.nodes)
      for (const Fact& fact : node.facts) {
        // A version that was there with the first report has moved nowhere; one that came or went is no step
        // from one to another.
        if (!fact.moved || fact.value == kLacks || fact.before == kLacks ||
            now_ >= fact.since + policy_.quiet ||
            fact_row(state_.words.word(fact.name)).kind != FactKind::version)
          continue;
        Moved& m = moved[{fact.name, fact.value}];
        ++m.from[fact.before];
        m.nodes.push_back(name);
        m.last = std::max(m.last, fact.since);
      }
    for (auto& [what, m] : moved) {
      rolling_.insert(what);
      out_.wake_at = std::min(out_.wake_at, m.last + policy_.quiet);
      // Where most came from stands in the sentence.
      const int from = std::ranges::max_element(m.from, {}, [](const auto& e) { return e.second; })->first;
      Told told;
      told.kind = Kind::rollout;
      told.fact = state_.words.word(what.first);
      told.value = state_.words.word(what.second);
      told.usual = state_.words.word(from);
      told.nodes = sorted_hosts(std::move(m.nodes));
      told.severity = "info";
      told.text = fmt::format("{} goes from {} to {}, beginning with {}", told.fact, told.usual, told.value,
                              named(told.nodes));
      wanted_[fmt::format("rollout {} {}", told.fact, told.value)] = std::move(told);
    }
  }

  bool rolls(int fact, int value) const { return rolling_.contains({fact, value}); }

  // --- one class

  void compare_class(const Class& nodes) {
    if (nodes.members.size() < policy_.least) return;
    std::vector<std::vector<Word>> words(
        state_.words.size());  // by fact; only of those that have it or lost it
    std::vector<int> facts;
    for (std::size_t i = 0; i < nodes.members.size(); ++i)
      for (const Fact& fact : nodes.members[i]->facts) {
        auto& column = words[static_cast<std::size_t>(fact.name)];
        if (column.empty()) facts.push_back(fact.name);
        column.push_back({nodes.names[i], fact.value, fact.since});
      }
    for (const int fact : facts) compare_fact(nodes, fact, std::move(words[static_cast<std::size_t>(fact)]));
  }

  // Count the values, take the most frequent one for usual where enough agree, and note who has another.
  void compare_fact(const Class& nodes, int fact, std::vector<Word> words) {
    const FactRow& row = fact_row(state_.words.word(fact));
    if (row.kind == FactKind::identity || row.kind == FactKind::clock) return;
    // That a node does not have it is a word as well, where it is a thing to have.
    if ((row.kind == FactKind::mount || row.kind == FactKind::number) && words.size() < nodes.members.size())
      add_silent(nodes, words);
    if (row.kind == FactKind::hardware || row.kind == FactKind::version)
      // Lacking is a word for mounts and links alone: who does not tell the others has an agent that does
      // not know them.
      std::erase_if(words, [](const Word& word) { return word.value == kLacks; });
    if (words.size() < policy_.least) return;
    const bool numbers = row.kind == FactKind::hardware || row.kind == FactKind::number;
    std::map<int, std::vector<const Word*>> by_value;
    for (const Word& word : words) by_value[word.value].push_back(&word);
    if (numbers) join_alike(by_value);
    const auto usual =
        std::ranges::max_element(by_value, {}, [](const auto& entry) { return entry.second.size(); });
    const std::size_t agree = usual->second.size();
    // Two thirds, and three at least: else it is no more than another value.
    if (agree < 3 || 3 * agree < 2 * words.size()) return;
    for (const auto& [value, holders] : by_value) {
      if (value == usual->first) continue;
      if (row.kind == FactKind::version && (rolls(fact, value) || rolls(fact, usual->first))) continue;
      note(nodes, fact, row, value, usual->first, agree, holders);
    }
  }

  static void add_silent(const Class& nodes, std::vector<Word>& words) {
    std::set<const std::string*> spoke;
    for (const Word& word : words) spoke.insert(word.node);
    for (std::size_t i = 0; i < nodes.names.size(); ++i)
      if (!spoke.contains(nodes.names[i])) words.push_back({nodes.names[i], kLacks, nodes.members[i]->first});
  }

  /// Numbers within 1 % count as the most frequent of them.
  void join_alike(std::map<int, std::vector<const Word*>>& by_value) const {
    std::vector<std::pair<double, int>> order;
    for (const auto& [value, holders] : by_value)
      if (value != kLacks) order.emplace_back(number_of(state_.words.word(value)), value);
    std::ranges::sort(order);
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (!alike(order[i - 1].first, order[i].first)) continue;
      // Into the larger of the two, which goes on as the neighbour of the next.
      const bool up = by_value[order[i].second].size() >= by_value[order[i - 1].second].size();
      const int into = order[up ? i : i - 1].second, from = order[up ? i - 1 : i].second;
      auto& all = by_value[into];
      all.insert(all.end(), by_value[from].begin(), by_value[from].end());
      by_value.erase(from);
      order[i].second = into;
    }
  }

  void note(const Class& nodes, int fact, const FactRow& row, int value, int usual, std::size_t agree,
            const std::vector<const Word*>& holders) {
    Told told;
    for (const Word* word : holders)
      if (settled(word->since)) told.nodes.push_back(*word->node);
    if (told.nodes.empty()) return;
    told.nodes = sorted_hosts(std::move(told.nodes));
    told.of_class = nodes.name;
    told.fact = state_.words.word(fact);
    if (value != kLacks) told.value = state_.words.word(value);
    if (usual != kLacks) told.usual = state_.words.word(usual);
    told.agree = agree;
    told.severity = severity_of(row, told);
    told.text = fmt::format("{} {}, {}", named(told.nodes),
                            odd_words(told.fact, told.value, told.usual, told.nodes.size() == 1),
                            usual_words(told.fact, told.usual, agree));
    wanted_[fmt::format("odd {} {} {}", told.of_class, told.fact, told.value)] = std::move(told);
  }

  std::string severity_of(const FactRow& row, const Told& told) const {
    // What only they have besides is worth knowing, and no fault.
    if (told.usual.empty()) return "info";
    const bool numbers = row.kind == FactKind::hardware || row.kind == FactKind::number;
    if (numbers && !told.value.empty() && number_of(told.value) > number_of(told.usual)) return "info";
    return drains(told.fact) ? "drain" : "warn";
  }

  bool drains(const std::string& fact) const {
    return std::ranges::any_of(policy_.drains,
                               [&](const std::string& pattern) { return fits(pattern, fact); });
  }

  // --- clocks: through all classes, by the distance from the median

  void compare_clocks() {
    const int fact = state_.words.find("clock_ahead_ms");
    std::vector<double> all;
    std::vector<std::pair<const std::string*, const Fact*>> who;
    for (const auto& [name, node] : state_.nodes)
      if (const Fact* f = fact < 0 ? nullptr : node.fact(fact); f && f->value != kLacks) {
        all.push_back(number_of(state_.words.word(f->value)));
        who.emplace_back(&name, f);
      }
    if (all.size() < policy_.least) return;
    const Spread spread = *spread_of(all);
    // Beside the site's bound six deviations: where all clocks scatter, none of them is odd.
    constexpr double kDeviations = 6;
    const double bound = std::max(static_cast<double>(policy_.clock.count()), kDeviations * spread.deviation);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double off = all[i] - spread.median;
      if (std::abs(off) <= bound || !settled(who[i].second->since)) continue;
      Told told;
      told.fact = "clock_ahead_ms";
      told.of_class = "all nodes";
      told.value = state_.words.word(who[i].second->value);
      told.usual = fmt::format("{:.0f}", spread.median);
      told.nodes = {*who[i].first};
      told.agree = all.size() - 1;
      told.severity = drains(told.fact) ? "drain" : "warn";
      told.text = fmt::format("the clock of {} is {:.1f} s {} those of {} others", *who[i].first,
                              std::abs(off) / 1000, off > 0 ? "ahead of" : "behind", told.agree);
      wanted_["odd clock " + *who[i].first] = std::move(told);
    }
  }

  // --- news

  static std::string named(const std::vector<std::string>& nodes) {
    if (nodes.size() <= kMostNamed) return compress_hostlist(nodes);
    const std::vector<std::string> first(nodes.begin(), nodes.begin() + kMostNamed);
    return fmt::format("{} and {} more", compress_hostlist(first), nodes.size() - kMostNamed);
  }

  // Of a rollout that goes on nothing is told; of odd nodes who they are, how bad it is, and what is usual.
  // How many have that changes with each node that comes and goes: by a tenth it is another sentence.
  static bool says_the_same(const Told& before, const Told& now) {
    const std::size_t more = std::max(before.agree, now.agree), less = std::min(before.agree, now.agree);
    return before.nodes == now.nodes && before.severity == now.severity && before.usual == now.usual &&
           10 * (more - less) <= more;
  }

  void tell() {
    for (const auto& [key, told] : state_.told)
      // Also when the comparison was switched off: what was told ends.
      if (!wanted_.contains(key)) record(key, Json::object({{"over", true}}));
    for (const auto& [key, told] : wanted_) {
      const auto before = state_.told.find(key);
      const bool same = before != state_.told.end() && before->second.kind == told.kind &&
                        (told.kind == Kind::rollout || says_the_same(before->second, told));
      if (!same) record(key, told.to_json());
    }
  }

  void record(const std::string& key, Json body) {
    body.set("key", key);
    out_.records.push_back(new_event(std::string(kSubject), kFleetOdd, std::move(body)));
  }

  const State& state_;
  const Policy& policy_;
  const TimePoint now_;
  std::set<std::pair<int, int>> rolling_;  ///< fact and value
  std::map<std::string, Told> wanted_;
  Decision out_;
};

}  // namespace

Decision decide(const State& state, const Policy& policy, TimePoint now) {
  return Comparison(state, policy, now).result();
}

}  // namespace sickbay::fleet
