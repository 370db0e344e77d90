// SPDX-License-Identifier: Apache-2.0
// RestartTree: what is restarted together with what.
//
// A cell is something that can be restarted by itself; its restart restarts its subtree.  Cells that stand
// side by side do not feel each other's restarts.  Levels, from the root: the cluster; the nodes of one job
// (a group); those of one process group of the job (a domain); nodes that depend on each other, most often a
// single one; software components of a node.  Groups and domains come and go with jobs, and a node belongs to
// one job's only.  A fault is cured by restarting a cell on the path from where it was seen to the root, and
// the lower that cell the less is lost (choose.h).
//
// A value made of what is known now; no I/O, no clock.  Source: doc/design/recover.md, "The tree".
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace sickbay::recover {

using Seconds = std::chrono::duration<double>;

enum class Level : std::uint8_t { component, node, domain, group, cluster };
inline constexpr std::size_t kLevels = 5;
std::string_view to_string(Level level);
std::optional<Level> level_from(std::string_view word);

/// Software of a node that can be restarted by itself.
struct Component {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  std::string name;
  std::vector<std::string> needs{};  ///< components of the same node
  Seconds takes{0};                  ///< its restart; 0: not said
};
struct NodeParts {
  std::string name;
  std::vector<Component> components{};
  Seconds takes{0};  ///< its boot; 0: not said
};
struct JobParts {
  JobId job_id = 0;
  std::vector<std::string> nodes{};
  std::vector<std::vector<std::string>> domains{};  ///< nodes of its process groups; those left out have none
  Seconds takes{0};  ///< until it runs again where it was, once it was requeued; 0: not said
};
struct TreeParts {
  std::vector<NodeParts> nodes{};
  std::vector<JobParts> jobs{};  ///< that run
  /// Sets of nodes that depend on each other: where one fails, nobody can tell which of them did.
  std::vector<std::vector<std::string>> dependent{};
};

struct Cell {
  Level level = Level::cluster;
  std::string name;        ///< "cluster", "job:17", "job:17/d1", "n3", "n[3-4]", "n3/slurmd"
  std::size_t parent = 0;  ///< of the root: itself
  std::vector<std::size_t> children{};
  std::vector<std::string> nodes{};  ///< of a node or a part of one: sorted; of larger cells: see nodes_of()
  std::vector<std::string> components{};  ///< of a part of a node: in the order of their restart
  JobId job_id = 0;                       ///< of a group or a domain
  std::vector<JobId> owners{};  ///< jobs that run on a node of it, of a node or a part of one: sorted
  Seconds takes{0};             ///< as far as it was said; children in parallel

  /// Cells of one kind are alike on all nodes: "component munged+slurmd", "node", "group".
  std::string kind() const;
  /// More than one job runs there: it is not restarted unless every one of them allows it.
  bool shared() const { return owners.size() > 1; }
};

class RestartTree {
 public:
  static constexpr std::size_t kRoot = 0;

  /// Total.  What does not fit together is left out of groups and told in faults().
  explicit RestartTree(const TreeParts& parts);

  const std::vector<Cell>& cells() const { return cells_; }
  const Cell& cell(std::size_t i) const { return cells_.at(i); }
  std::optional<std::size_t> find(std::string_view cell) const;
  /// The cell of the node and of all that depend on it.
  std::optional<std::size_t> of_node(std::string_view node) const;
  std::optional<std::size_t> of_component(std::string_view node, std::string_view component) const;

  /// From the cell itself to the root.
  std::vector<std::size_t> path(std::size_t from) const;
  /// What its restart restarts: a restart group, itself first.
  std::vector<std::size_t> subtree(std::size_t from) const;
  /// All nodes under it, sorted.
  std::vector<std::string> nodes_of(std::size_t from) const;

  /// For people: nodes that two jobs have, needs that nobody meets.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  class Builder;
  std::vector<Cell> cells_;
  std::map<std::string, std::size_t, std::less<>> by_name_, by_node_;
  std::vector<std::string> faults_;
};

/// The jobs that must still say yes before the cell is restarted: none for a cell that is not shared.
std::vector<JobId> still_to_allow(const Cell& cell, std::span<const JobId> allowing);

}  // namespace sickbay::recover
