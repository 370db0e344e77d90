// SPDX-License-Identifier: Apache-2.0
// The search is written as if V answered at once; each call walks it from the start along the answers so far
// and stops at the first question that has none yet.  So there is no state to keep, and a replay is the same.
#include "engine/further/locate.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace sickbay::further {
namespace {

using Nodes = std::vector<int>;
using Stage = Located::Stage;

// Ascending, as Test::nodes are: the sets are compared with each other.
Nodes joined(const Nodes& a, const Nodes& b) {
  Nodes all;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

Nodes without(const Nodes& all, int node) {
  Nodes rest = all;
  std::erase(rest, node);
  return rest;
}

struct Halves {
  Nodes first, second;
};
Halves halves(const Nodes& nodes) {
  const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>((nodes.size() + 1) / 2);
  return {{nodes.begin(), middle}, {middle, nodes.end()}};
}

class Search {
 public:
  Search(const Nodes& all, const std::vector<Test>& tests) : all_(all), tests_(tests) {}

  Located run() {
    if (all_.empty()) return {Stage::unknown, {}, false, "there are no nodes"};
    Nodes within = all_;
    while (within.size() > 1) {
      const auto [first, second] = halves(within);
      const auto in_first = fails_on(first);
      if (!in_first) return end_;
      if (*in_first) {
        within = first;
        continue;
      }
      const auto in_second = fails_on(second);
      if (!in_second) return end_;
      // Both pass alone: it takes a node of each, so it is a link.
      if (!*in_second) return across(first, second);
      within = second;
    }
    return confirm_node(within.front());
  }

 private:
  // The next answer; nothing where it was not asked yet, or V could not say: then end_ is what to return.
  std::optional<bool> fails_on(const Nodes& nodes) {
    if (at_ == tests_.size()) {
      end_ = {Stage::asks, nodes, false, ""};
      return std::nullopt;
    }
    const Test& test = tests_[at_++];
    // The nodes of the run changed meanwhile, or the answers are those of an older version's search.
    if (test.nodes != nodes)
      end_ = {Stage::unknown, {}, false, "the answers are of another search"};
    else if (test.said == Said::unknown)
      end_ = {Stage::unknown, nodes, false, "the verification could not speak of them"};
    else
      return test.said == Said::failed;
    return std::nullopt;
  }

  Located confirm_node(int node) {
    // Once more: a V that fails by chance would lead the halves to any node.
    const auto again = fails_on({node});
    if (!again) return end_;
    if (!*again) return {Stage::unknown, {node}, false, "it does not fail there each time"};
    const Nodes rest = without(all_, node);
    if (rest.empty()) return {Stage::node, {node}, false, ""};
    // Where the rest fails as well there is a second fault, which the caller tells and looks for no further.
    const auto rest_fails = fails_on(rest);
    if (!rest_fails) return end_;
    return {Stage::node, {node}, *rest_fails, ""};
  }

  // Neither half fails by itself.  Each end is looked for beside all of the other half.
  Located across(Nodes left, Nodes right) {
    for (const bool narrow_left : {true, false}) {
      Nodes& side = narrow_left ? left : right;
      const Nodes& other = narrow_left ? right : left;
      while (side.size() > 1) {
        const auto [first, second] = halves(side);
        const auto fails = fails_on(joined(first, other));
        if (!fails) return end_;
        if (*fails) {
          side = first;
          continue;
        }
        const auto fails_then = fails_on(joined(second, other));
        if (!fails_then) return end_;
        // Both parts pass beside the other half, which failed with them before.
        if (!*fails_then) return {Stage::unknown, joined(side, other), false, "it does not fail each time"};
        side = second;
      }
    }
    const Nodes pair = joined(left, right);
    const auto again = fails_on(pair);
    if (!again) return end_;
    if (!*again) return {Stage::unknown, pair, false, "it does not fail there each time"};
    // Each end was in a half that passed.  Had that been a mistake, the search would have come to a bad node
    // and any other: so each is tried alone.
    for (const int end : pair) {
      const auto alone = fails_on({end});
      if (!alone) return end_;
      if (*alone) return {Stage::unknown, {end}, false, "it passed there at first"};
    }
    return {Stage::link, pair, false, ""};
  }

  const Nodes& all_;
  const std::vector<Test>& tests_;
  std::size_t at_ = 0;
  Located end_;
};

}  // namespace

Located locate(const std::vector<int>& nodes, const std::vector<Test>& tests) {
  return Search(nodes, tests).run();
}

}  // namespace sickbay::further
