// SPDX-License-Identifier: Apache-2.0
// Groups by equal hardware, small groups to the nearest large one.
#include "engine/fleet/classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <map>

#include "engine/fleet/facts.h"

namespace sickbay::fleet {
namespace {

/// What of a node decides, with the numbers of its hardware brought to one of their likes.
struct Signature {
  std::string machine;           ///< its identity, as text
  std::vector<double> hardware;  ///< by kHardware; 0: not told
  auto operator<=>(const Signature&) const = default;
};

constexpr auto kIdentity = std::to_array<std::string_view>({"arch", "cpu", "features"});
constexpr auto kHardware = std::to_array<std::string_view>({"cores", "memory_mib", "gpus"});

struct Group {
  Signature signature;
  std::vector<std::pair<const std::string*, const Node*>> members;
};

Signature signature_of(const Words& words, const Node& node, const std::vector<int>& identity,
                       const std::vector<int>& hardware) {
  Signature s;
  for (const int name : identity) {
    const Fact* fact = node.fact(name);
    s.machine += (fact && fact->value != kLacks ? words.word(fact->value) : "") + "\n";
  }
  for (const int name : hardware) {
    const Fact* fact = node.fact(name);
    s.hardware.push_back(fact && fact->value != kLacks ? number_of(words.word(fact->value)) : 0);
  }
  return s;
}

/// Numbers that differ by no more than the firmware's share become one: chains of neighbours within 1 %.
void join_alike(std::vector<std::pair<Signature, std::pair<const std::string*, const Node*>>>& all,
                std::size_t column) {
  std::map<std::string, std::map<double, double>> least;  // machine -> number -> what stands for it
  for (const auto& [signature, node] : all) least[signature.machine][signature.hardware[column]] = 0;
  for (auto& [machine, numbers] : least) {
    double last = -1, stands = -1;
    for (auto& [number, stand] : numbers) {
      if (last < 0 || !alike(last, number)) stands = number;
      last = number;
      stand = stands;
    }
  }
  for (auto& [signature, node] : all)
    signature.hardware[column] = least[signature.machine][signature.hardware[column]];
}

int differences(const Signature& a, const Signature& b) {
  int count = 0;
  // What a node does not tell sets it apart from nobody.
  for (std::size_t i = 0; i < a.hardware.size(); ++i)
    count += a.hardware[i] != b.hardware[i] && a.hardware[i] != 0 && b.hardware[i] != 0;
  return count;
}

std::string name_of(const Signature& s) {
  std::string name;
  for (std::size_t at = 0; at < s.machine.size();) {
    const std::size_t end = s.machine.find('\n', at);
    if (end > at) name += (name.empty() ? "" : " ") + s.machine.substr(at, end - at);
    at = end + 1;
  }
  constexpr auto kUnits = std::to_array<std::string_view>({" processors", " MiB", " GPUs"});
  static_assert(kUnits.size() == kHardware.size());
  for (std::size_t i = 0; i < s.hardware.size(); ++i)
    if (s.hardware[i] > 0)
      name += fmt::format("{}{:.0f}{}", name.empty() ? "" : ", ", s.hardware[i], kUnits[i]);
  return name.empty() ? "all nodes" : name;
}

}  // namespace

// Equal signatures are groups; from the largest on each group is a class of its own where it is large, else
// it joins the nearest class.
std::vector<Class> find_classes(const State& state) {
  std::vector<int> identity, hardware;
  for (const std::string_view name : kIdentity) identity.push_back(state.words.find(name));
  for (const std::string_view name : kHardware) hardware.push_back(state.words.find(name));
  std::vector<std::pair<Signature, std::pair<const std::string*, const Node*>>> all;
  all.reserve(state.nodes.size());
  for (const auto& [name, node] : state.nodes)
    all.push_back({signature_of(state.words, node, identity, hardware), {&name, &node}});
  for (std::size_t column = 0; column < kHardware.size(); ++column) join_alike(all, column);

  std::map<Signature, std::vector<std::pair<const std::string*, const Node*>>> by_signature;
  for (auto& [signature, node] : all) by_signature[std::move(signature)].push_back(node);
  std::vector<Group> groups;
  for (auto& [signature, members] : by_signature) groups.push_back({signature, std::move(members)});
  // By size, and by signature among equals, so that a replay makes the same classes.
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.members.size() > b.members.size(); });

  std::vector<Class> classes;
  std::vector<const Group*> heads;  // of the classes
  for (const Group& group : groups) {
    // The largest groups come first: among equally near ones the largest is taken.
    std::size_t nearest = heads.size();
    int least = static_cast<int>(kHardware.size()) + 1;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      if (heads[i]->signature.machine != group.signature.machine) continue;
      const int away = differences(heads[i]->signature, group.signature);
      // Three that agree are no accident, in a large class half a percent of it.
      const bool large =
          away > 0 && group.members.size() >= std::max<std::size_t>(3, heads[i]->members.size() / 200);
      // A group that differs in all numbers is another machine, however small it is.
      if (away < least && away < static_cast<int>(kHardware.size()) && !large) nearest = i, least = away;
    }
    if (nearest == heads.size()) {
      heads.push_back(&group);
      classes.push_back({name_of(group.signature), {}, {}});
    }
    for (const auto& [name, node] : group.members) {
      classes[nearest].names.push_back(name);
      classes[nearest].members.push_back(node);
    }
  }
  return classes;
}

}  // namespace sickbay::fleet
