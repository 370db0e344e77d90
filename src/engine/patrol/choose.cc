// SPDX-License-Identifier: Apache-2.0
// Which nodes are taken next, and why the others are not.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/duration.h"
#include "base/hostlist.h"
#include "engine/patrol/patrol.h"

namespace sickbay::patrol {
namespace {

constexpr int kMostVain = 3;  ///< runs of V that may say nothing of a node
constexpr std::int64_t kMostOfDay = 1'000'000;
constexpr std::size_t kWindow = 256;  ///< nodes that are looked at closely at one time

constexpr auto kWords =
    std::to_array<std::string_view>({"ready", "running", "done", "given_up", "out", "fresh", "claimed",
                                     "busy", "wanted", "later", "breaker", "budget"});
static_assert(kWords.size() == static_cast<std::size_t>(Standing::budget) + 1);

class Chooser {
 public:
  Chooser(const Sight& sight, const State& state, const Policy& policy, const Round& round, TimePoint now)
      : sight_(sight), state_(state), policy_(policy), round_(round), now_(now) {}

  std::map<std::string, Choice> result() {
    std::vector<std::string> names = round_.named;
    if (names.empty())
      for (const auto& [name, node] : sight_.cluster.view.nodes) names.push_back(name);
    names = sorted_hosts(std::move(names));
    for (const Run& run : round_.runs)
      for (const std::string& name : run.nodes) {
        if (!run.ended) hold(name);
        // (Also while its output is read.)
        if (!run.settled() && !is_suspect(name)) other_taken_ = true;
      }
    // What is held counts in all of its partitions: the breaker's share is of each.
    for (const auto& [name, look] : round_.taken) hold(name);
    // Those under suspicion first, then those that nobody has looked at for the longest time.  Beside a
    // suspect any will do: the last ones, which Slurm gives to jobs last.
    if (round_.for_suspects) std::ranges::reverse(names);
    std::ranges::stable_sort(names, {}, [this](const std::string& name) {
      return std::pair(place_in_line(name), round_.for_suspects ? kNoTime : last_said(name));
    });
    // Claimed nodes are promised already.
    left_ = round_.budget - round_.spent() - static_cast<int>(round_.taken.size());
    left_of_day_ = left_of_day();
    std::map<std::string, Choice> choices;
    for (const std::string& name : names) {
      Choice& choice = choices[name] = choose(name);
      if (is_suspect(name))
        note_suspect(choice.standing);
      else if (choice.standing == Standing::ready || choice.standing == Standing::running)
        other_taken_ = true;
    }
    return choices;
  }

 private:
  bool is_suspect(const std::string& name) const { return round_.is_suspect(name); }
  // One that shows that V is sound, in a round for suspects.
  bool is_beside(const std::string& name) const { return round_.for_suspects && !is_suspect(name); }

  // What shows that V is sound should be of the same partition.
  int place_in_line(const std::string& name) const {
    if (is_suspect(name)) return 0;
    if (!round_.for_suspects) return 1;
    const cluster::Node* node = sight_.cluster.view.node(name);
    const bool beside = node != nullptr && std::ranges::any_of(round_.suspects, [&](const auto& one) {
                          const cluster::Node* suspect = sight_.cluster.view.node(one.first);
                          return suspect != nullptr && !suspect->partitions.empty() &&
                                 !node->partitions.empty() &&
                                 suspect->partitions.front() == node->partitions.front();
                        });
    return beside ? 1 : 2;
  }

  // In a round for suspects another node is taken as soon as one of them is, and again as long as V has
  // passed nowhere: that shows whether V is sound.  Suspects are chosen first, so how they stand is known.
  Choice choose_beside_suspects() {
    if (other_taken_) return {Standing::later, "one node beside them at a time"};
    for (const auto& [name, since] : round_.suspects) {
      if (round_.proven.contains(name)) continue;
      const auto said = round_.said.find(name);
      const bool matters = held_.contains(name) || (said != round_.said.end() && said->second == "failed");
      if (matters && !has_passed_elsewhere(state_, policy_, round_, name, now_)) return {};
    }
    return suspect_waits_ ? Choice{Standing::later, ""} : Choice{Standing::done, "not needed any more"};
  }

  // What a choice of a suspect means for the others.
  void note_suspect(Standing standing) {
    if (standing == Standing::ready || standing == Standing::running || standing == Standing::claimed ||
        standing == Standing::breaker)
      suspect_waits_ = true;
  }

  TimePoint last_said(const std::string& name) const {
    const auto it = state_.nodes.find(name);
    return it == state_.nodes.end() ? kNoTime : it->second.said_at;
  }

  void hold(const std::string& name) {
    held_.insert(name);
    if (const cluster::Node* node = sight_.cluster.view.node(name))
      for (const std::string& partition : node->partitions) ++in_[partition];
  }

  // So many nodes more may be taken by the node-hours of all rounds that lie within the last day.  What runs
  // counts for as long as it may: the bound holds whatever V takes.
  int left_of_day() const {
    if (policy_.node_hours == 0) return kMostOfDay;
    constexpr std::chrono::hours kDay{24};
    Micros left = std::chrono::hours(policy_.node_hours) -
                  policy_.longest * static_cast<std::int64_t>(round_.taken.size());
    for (const auto& [no, round] : state_.rounds)
      for (const Run& run : round.runs)
        if (!run.ended || run.job.start + run.kept(policy_.longest) > now_ - kDay)
          left -= run.kept(policy_.longest) * static_cast<std::int64_t>(run.nodes.size());
    return static_cast<int>(std::clamp<std::int64_t>(left / policy_.longest, 0, kMostOfDay));
  }

  // One reason for each node, the first that fits: what is over, then what cannot be, then what passes by
  // itself, then the bounds. --dry-run shows them.
  Choice choose(const std::string& name) {
    if (held_.contains(name)) return {Standing::running, ""};
    if (const auto said = round_.said.find(name); said != round_.said.end())
      return {Standing::done, said->second};
    if (const auto vain = round_.vain.find(name); vain != round_.vain.end() && vain->second >= kMostVain)
      return {Standing::given_up, fmt::format("{} runs said nothing of it", vain->second)};
    const cluster::Node* node = sight_.cluster.view.node(name);
    if (node == nullptr) return {Standing::out, "Slurm has no such node"};
    if (!node->usable) return {Standing::out, node->state};
    if (const TimePoint last = last_said(name);
        // Who names a node wants it verified now; and what V said before jobs began to fail is old.
        round_.named.empty() && !round_.for_suspects && !is_suspect(name) && last != kNoTime &&
        now_ < last + policy_.fresh) {
      const auto ago = std::chrono::duration_cast<std::chrono::seconds>(now_ - last);
      return {Standing::fresh, fmt::format("verified {} ago by {}: {}", describe_duration(ago),
                                           state_.nodes.at(name).by, state_.nodes.at(name).result)};
    }
    if (const cluster::Claim* claim = sight_.cluster.claims.find(node_subject(name), now_))
      return {Standing::claimed, fmt::format("{} for {}", claim->holder, claim->by)};
    // One that is not needed any more does not keep the round open for as long as jobs wait.
    const Choice beside = is_beside(name) ? choose_beside_suspects() : Choice{};
    if (beside.standing == Standing::done) return beside;
    // (Those that wait for a suspect would die there: V goes before them.)
    if (!is_suspect(name))
      for (const std::string& partition : node->partitions)
        if (sight_.wanted.contains(partition))
          return {Standing::wanted, "jobs wait for partition " + partition};
    if (beside.standing != Standing::ready) return beside;
    // A suspect is idle for moments only: what runs there is gone in one, and V stands in the queue for it.
    if (!is_suspect(name) && !sight_.idle(name)) return {Standing::busy, ""};
    // Of two reasons to wait the one that lasts longer is told.
    if (left_ <= 0)
      return {Standing::budget, fmt::format("{} nodes are the budget of a round", round_.budget)};
    if (left_of_day_ <= 0)
      return {Standing::budget,
              fmt::format("{} node-hours are what rounds may take in 24 h", policy_.node_hours)};
    // (One idle node beside a suspect, for seconds: to keep it back would let the suspect eat on.)
    for (const std::string& partition : node->partitions)
      if (!is_beside(name) && in_[partition] >= room(partition))
        return {Standing::breaker,
                "as many nodes of " + partition + " as may be are out or under verification"};
    for (const std::string& partition : node->partitions) ++in_[partition];
    --left_, --left_of_day_;
    return {};
  }

  // Asked once for each partition: the breaker walks over all nodes.
  std::size_t room(const std::string& partition) {
    const auto [it, is_new] = room_.try_emplace(partition, 0);
    if (is_new)
      it->second = sight_.cluster.breaker.room(policy_.breaker, sight_.cluster.view, sight_.cluster.claims,
                                               partition, now_);
    return it->second;
  }

  const Sight& sight_;
  const State& state_;
  const Policy& policy_;
  const Round& round_;
  TimePoint now_;
  int left_ = 0, left_of_day_ = 0;
  bool suspect_waits_ = false, other_taken_ = false;
  std::set<std::string> held_;
  std::map<std::string, std::size_t> in_;    ///< partition -> nodes under verification
  std::map<std::string, std::size_t> room_;  ///< partition -> how many may be
};

}  // namespace

std::string_view to_string(Standing standing) { return kWords[static_cast<std::size_t>(standing)]; }

std::map<std::string, Choice> choose(const Sight& sight, const State& state, const Policy& policy,
                                     const Round& round, TimePoint now) {
  return Chooser(sight, state, policy, round, now).result();
}

std::map<std::string, std::int64_t> looked_at(const cluster::Cluster& cluster, const State& state,
                                              const Policy& policy, TimePoint now) {
  std::map<std::string, std::int64_t> looks;
  const Round* round = state.open();
  if (round == nullptr || !round->stopped_by.empty()) return looks;
  for (const auto& [name, look] : round->taken) looks[name] = look;
  // Whether it is idle is what a close look tells: here it counts as if it were.
  const Sight sight{cluster, cluster.view.wanted_partitions, [](const std::string&) { return true; }};
  std::vector<std::string> names;
  for (const auto& [name, choice] : choose(sight, state, policy, *round, now))
    // Those that only a bound keeps away now may be taken in the next step.
    if (choice.standing == Standing::ready || choice.standing == Standing::breaker ||
        choice.standing == Standing::budget)
      names.push_back(name);
  // Where they are many, others each minute: those of the first minute may be busy for days.
  const auto minute = std::chrono::duration_cast<std::chrono::minutes>(now - round->asked_at).count();
  const std::size_t first =
      names.size() <= kWindow ? 0 : static_cast<std::size_t>(minute) * kWindow % names.size();
  for (std::size_t i = 0; i < std::min(kWindow, names.size()); ++i)
    looks.emplace(names[(first + i) % names.size()], -1);
  return looks;
}

}  // namespace sickbay::patrol
