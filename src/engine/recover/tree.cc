// SPDX-License-Identifier: Apache-2.0
// How cells are made: nodes that depend on each other are joined first, then each such set is hung under the
// smallest cell that all of its nodes are in.
#include "engine/recover/tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "base/hostlist.h"

namespace sickbay::recover {
namespace {

constexpr auto kLevelWords =
    std::to_array<std::string_view>({"component", "node", "domain", "group", "cluster"});
static_assert(kLevelWords.size() == kLevels);

using Components = std::vector<const Component*>;

bool has_component(const Components& list, const std::string& name) {
  return std::ranges::any_of(list, [&](const Component* c) { return c->name == name; });
}

// As they are restarted: who is needed goes first; of equals, and in a circle of needs, the first by name.
Components in_order(Components left) {
  std::ranges::sort(left, {}, &Component::name);
  Components order;
  while (!left.empty()) {
    auto next = std::ranges::find_if(left, [&](const Component* c) {
      return std::ranges::none_of(
          c->needs, [&](const std::string& need) { return need != c->name && has_component(left, need); });
    });
    // (A circle: each needs another one. One of them must be first.)
    if (next == left.end()) next = left.begin();
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

// One after the other where one needs the other, else at one time.
Seconds time_of(const Components& order) {
  std::map<std::string, Seconds> ready;
  Seconds all{0};
  for (const Component* c : order) {
    Seconds begin{0};
    for (const std::string& need : c->needs)
      if (const auto it = ready.find(need); it != ready.end()) begin = std::max(begin, it->second);
    ready[c->name] = begin + c->takes;
    all = std::max(all, begin + c->takes);
  }
  return all;
}

// Sets of names, joined by what was said of them.
class Parties {
 public:
  void add(const std::string& name) { parent_.try_emplace(name, name); }
  bool knows(const std::string& name) const { return parent_.contains(name); }
  void join(const std::string& a, const std::string& b) { parent_[root(a)] = root(b); }
  std::vector<std::vector<std::string>> result() {
    std::map<std::string, std::vector<std::string>> sets;
    for (const auto& [name, parent] : parent_) sets[root(name)].push_back(name);
    std::vector<std::vector<std::string>> list;
    for (auto& [first, names] : sets) list.push_back(sorted_hosts(std::move(names)));
    std::ranges::sort(list, [](const auto& a, const auto& b) { return host_less(a.front(), b.front()); });
    return list;
  }

 private:
  std::string root(std::string name) {
    // Each step also shortens the way for the next one (a union-find with halved paths).
    while (parent_.at(name) != name) name = parent_[name] = parent_.at(parent_.at(name));
    return name;
  }
  std::map<std::string, std::string> parent_;
};

}  // namespace

std::string_view to_string(Level level) { return kLevelWords[static_cast<std::size_t>(level)]; }

std::optional<Level> level_from(std::string_view word) {
  const auto it = std::ranges::find(kLevelWords, word);
  if (it == kLevelWords.end()) return std::nullopt;
  return static_cast<Level>(it - kLevelWords.begin());
}

std::string Cell::kind() const {
  if (level != Level::component) return std::string(to_string(level));
  return fmt::format("component {}", fmt::join(components, "+"));
}

class RestartTree::Builder {
 public:
  Builder(RestartTree& tree, const TreeParts& parts) : tree_(tree), parts_(parts) {}

  void build() {
    // The root is cell 0, also of an empty cluster.
    tree_.cells_.push_back({.level = Level::cluster, .name = "cluster"});
    tree_.by_name_["cluster"] = kRoot;
    for (const NodeParts& node : parts_.nodes) nodes_[node.name] = &node;
    note_jobs();
    for (const std::vector<std::string>& party : parties()) hang(party);
    finish(kRoot);
  }

 private:
  void fault(std::string text) { tree_.faults_.push_back(std::move(text)); }

  // Where a node is by its jobs: which of them have it, and the domain (from 1; 0: none) of the only one.
  struct Place {
    std::set<JobId> owners;
    std::size_t domain = 0;
  };

  void note_jobs() {
    for (const JobParts& job : parts_.jobs) {
      jobs_[job.job_id] = &job;
      for (const std::string& node : job.nodes) {
        nodes_.try_emplace(node, nullptr);
        places_[node].owners.insert(job.job_id);
      }
      for (std::size_t d = 0; d < job.domains.size(); ++d)
        for (const std::string& node : job.domains[d]) {
          const auto place = places_.find(node);
          if (place == places_.end() || !place->second.owners.contains(job.job_id))
            fault(fmt::format("job {}: {} is in its process group {}, but not its node", job.job_id, node,
                              d + 1));
          else if (place->second.owners.size() == 1 && place->second.domain != 0)
            fault(fmt::format("job {}: {} is in two of its process groups", job.job_id, node));
          else
            place->second.domain = d + 1;
        }
    }
    for (const auto& [node, place] : places_)
      if (place.owners.size() > 1)
        fault(fmt::format("{}: jobs {} have a part of it, so it is in no job's group", node,
                          fmt::join(place.owners, ", ")));
  }

  std::vector<std::vector<std::string>> parties() {
    Parties parties;
    for (const auto& [name, node] : nodes_) parties.add(name);
    for (const std::vector<std::string>& set : parts_.dependent) {
      std::string first;
      for (const std::string& name : set) {
        if (!parties.knows(name))
          fault(fmt::format("{}: nodes depend on it, and it is none of ours", name));
        else if (first.empty())
          first = name;
        else
          parties.join(name, first);
      }
    }
    return parties.result();
  }

  std::size_t add(Cell cell) {
    const std::size_t index = tree_.cells_.size();
    tree_.by_name_[cell.name] = index;
    tree_.cells_[cell.parent].children.push_back(index);
    tree_.cells_.push_back(std::move(cell));
    return index;
  }

  std::size_t group_of(JobId job) {
    const std::string name = job_subject(job);
    if (const auto it = tree_.by_name_.find(name); it != tree_.by_name_.end()) return it->second;
    return add(
        {.level = Level::group, .name = name, .parent = kRoot, .job_id = job, .takes = jobs_.at(job)->takes});
  }
  std::size_t domain_of(JobId job, std::size_t domain) {
    const std::string name = fmt::format("{}/d{}", job_subject(job), domain);
    if (const auto it = tree_.by_name_.find(name); it != tree_.by_name_.end()) return it->second;
    return add({.level = Level::domain, .name = name, .parent = group_of(job), .job_id = job});
  }

  // The smallest cell that restarts all of these nodes.
  std::size_t parent_of(const std::vector<std::string>& party, std::vector<JobId>& owners) {
    std::set<JobId> all;
    std::set<std::tuple<std::set<JobId>, std::size_t>> places;
    bool whole = true;  // each node has the same one job
    for (const std::string& node : party) {
      const auto it = places_.find(node);
      const Place place = it == places_.end() ? Place{} : it->second;
      all.insert(place.owners.begin(), place.owners.end());
      places.insert({place.owners, place.domain});
      whole = whole && place.owners.size() == 1;
    }
    owners.assign(all.begin(), all.end());
    if (!whole || all.size() != 1) {
      if (!all.empty() && party.size() > 1)
        fault(fmt::format("{} depend on each other and are not one job's, so they are in no job's group",
                          compress_hostlist(party)));
      return kRoot;
    }
    const std::size_t domain = std::get<1>(*places.begin());
    return places.size() == 1 && domain != 0 ? domain_of(*all.begin(), domain) : group_of(*all.begin());
  }

  void hang(const std::vector<std::string>& party) {
    Cell cell{.level = Level::node, .name = compress_hostlist(party), .nodes = party};
    cell.parent = parent_of(party, cell.owners);
    // They are restarted at one time: the slowest counts.
    for (const std::string& name : party)
      if (const NodeParts* node = nodes_.at(name)) cell.takes = std::max(cell.takes, node->takes);
    const std::vector<JobId> owners = cell.owners;
    const std::size_t index = add(std::move(cell));
    for (const std::string& name : party) {
      tree_.by_node_[name] = index;
      if (const NodeParts* node = nodes_.at(name)) add_components(*node, index, owners);
    }
  }

  // Components that need each other, by whatever way, have a cell above their own: what is wrong with one of
  // them may be cured by restarting the other.
  void add_components(const NodeParts& node, std::size_t parent, const std::vector<JobId>& owners) {
    std::map<std::string, const Component*> known;
    Parties joined;
    for (const Component& c : node.components) {
      known[c.name] = &c;
      joined.add(c.name);
    }
    for (const Component& c : node.components)
      for (const std::string& need : c.needs) {
        if (known.contains(need))
          joined.join(c.name, need);
        else
          fault(fmt::format("{}: {} needs {}, which the node does not have", node.name, c.name, need));
      }
    const auto cell_of = [&](const Components& order, std::size_t under) {
      std::vector<std::string> names;
      for (const Component* c : order) names.push_back(c->name);
      return Cell{.level = Level::component,
                  .name = fmt::format("{}/{}", node.name, fmt::join(names, "+")),
                  .parent = under,
                  .nodes = {node.name},
                  .components = names,
                  .owners = owners,
                  .takes = time_of(order)};
    };
    for (const std::vector<std::string>& set : joined.result()) {
      Components members;
      for (const std::string& name : set) members.push_back(known.at(name));
      const Components order = in_order(members);
      // A cell above only where there are several: one of a single component would be the same restart twice.
      const std::size_t above = order.size() > 1 ? add(cell_of(order, parent)) : parent;
      for (const Component* c : order) add(cell_of({c}, above));
    }
  }

  // Of cells of which nothing was said: what their children take, at one time.
  Seconds finish(std::size_t index) {
    Seconds slowest{0};
    const std::vector<std::size_t> children = tree_.cells_[index].children;
    for (const std::size_t child : children) slowest = std::max(slowest, finish(child));
    Cell& cell = tree_.cells_[index];
    if (cell.takes == Seconds(0) && cell.level > Level::node) cell.takes = slowest;
    return cell.takes;
  }

  RestartTree& tree_;
  const TreeParts& parts_;
  std::map<std::string, const NodeParts*> nodes_;  // null: of a job, and nothing else is known of it
  std::map<JobId, const JobParts*> jobs_;
  std::map<std::string, Place> places_;
};

RestartTree::RestartTree(const TreeParts& parts) { Builder(*this, parts).build(); }

std::optional<std::size_t> RestartTree::find(std::string_view cell) const {
  const auto it = by_name_.find(cell);
  if (it == by_name_.end()) return std::nullopt;
  return it->second;
}

std::optional<std::size_t> RestartTree::of_node(std::string_view node) const {
  const auto it = by_node_.find(node);
  if (it == by_node_.end()) return std::nullopt;
  return it->second;
}

std::optional<std::size_t> RestartTree::of_component(std::string_view node,
                                                     std::string_view component) const {
  return find(fmt::format("{}/{}", node, component));
}

std::vector<std::size_t> RestartTree::path(std::size_t from) const {
  std::vector<std::size_t> path{from};
  while (path.back() != kRoot) path.push_back(cell(path.back()).parent);
  return path;
}

std::vector<std::size_t> RestartTree::subtree(std::size_t from) const {
  std::vector<std::size_t> below{from};
  // (The list grows while it is gone through: children are behind their parents.)
  for (std::size_t i = 0; i < below.size(); ++i) {
    const std::vector<std::size_t>& children = cell(below[i]).children;
    below.insert(below.end(), children.begin(), children.end());
  }
  return below;
}

std::vector<std::string> RestartTree::nodes_of(std::size_t from) const {
  std::vector<std::string> nodes;
  for (const std::size_t i : subtree(from))
    // Parts of nodes name their node, too: without this a node would count for each of its components.
    if (i == from || cell(i).level == Level::node)
      nodes.insert(nodes.end(), cell(i).nodes.begin(), cell(i).nodes.end());
  return sorted_hosts(std::move(nodes));
}

std::vector<JobId> still_to_allow(const Cell& cell, std::span<const JobId> allowing) {
  std::vector<JobId> left;
  if (cell.shared())
    for (const JobId owner : cell.owners)
      if (std::ranges::find(allowing, owner) == allowing.end()) left.push_back(owner);
  return left;
}

}  // namespace sickbay::recover
