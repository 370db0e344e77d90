// SPDX-License-Identifier: Apache-2.0
// Which cells there are for a fault, and where to begin.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/hostlist.h"
#include "engine/recover/recover.h"

namespace sickbay::recover {
namespace {

// What may be restarted for a class of faults (paper, 4.1).  Of the whole cluster nothing, by us.
struct ClassRow {
  FaultClass of;
  bool component, node, job;
};
constexpr auto kClasses = std::to_array<ClassRow>({
    {FaultClass::component, true, true, false},
    {FaultClass::node, false, true, false},
    {FaultClass::job, false, true, true},
    {FaultClass::network, true, true, false},
    {FaultClass::cluster, false, false, false},
});
static_assert(kClasses.size() == kFaultClasses);

bool may_cure(const ClassRow& row, Level level) {
  switch (level) {
    case Level::component:
      return row.component;
    case Level::node:
      return row.node;
    case Level::domain:
    case Level::group:
      return row.job;
    case Level::cluster:
      return true;  // shown as what is left to people
  }
  return false;
}

// The nodes that are restarted with it, itself included.
// Until nothing is added: of sets that share a node all are one party.
std::vector<std::string> party_of(const State& state, const std::string& node) {
  std::vector<std::string> party{node};
  for (bool grows = true; grows;) {
    grows = false;
    for (const std::vector<std::string>& set : state.dependent) {
      if (hosts_in_both(party, set).empty() || hosts_without(set, party).empty()) continue;
      party = hosts_in_either(party, set);
      grows = true;
    }
  }
  return party;
}

NodeParts node_parts(const State& state, const std::string& name) {
  NodeParts node;
  node.name = name;
  if (const auto it = state.components.find(name); it != state.components.end()) node.components = it->second;
  return node;
}

std::string why_refused(const cluster::View& view, const State& state, const Fault& fault) {
  if (fault.of == FaultClass::cluster) return "the whole cluster is restarted on a person's word alone";
  if (!fault.of_whole_job() && view.node(fault.node) == nullptr)
    return fmt::format("Slurm has no node {}", fault.node);
  if (fault.of_hardware())
    return fmt::format("a part of a network's hardware is for a person to change, and {} is to leave service",
                       fault.node);
  if (fault.of == FaultClass::job && fault.job.job_id == 0) return "nobody has said which job it is of";
  if (fault.of == FaultClass::job && fault.job.nodes.empty())
    return fmt::format("nobody has said which nodes job {} had", fault.job.job_id);
  if (fault.of == FaultClass::job && !fault.node.empty() && !has_host(fault.job.nodes, fault.node))
    return fmt::format("{} is not a node of job {}", fault.node, fault.job.job_id);
  if (fault.of == FaultClass::component && fault.component.empty())
    return "nobody has said which component it is of";
  if (level_of(fault) != Level::component) return "";
  const NodeParts node = node_parts(state, fault.node);
  if (std::ranges::none_of(node.components, [&](const Component& c) { return c.name == fault.component; }))
    return fmt::format("{} on {} is no component that its agent can restart", fault.component, fault.node);
  return "";
}

// The part of the tree that the fault is in.
RestartTree tree_around(const State& state, const Fault& fault) {
  TreeParts parts;
  // A job that begins anew leaves its nodes as they are: what depends on them does not matter.
  if (!fault.of_whole_job()) {
    for (const std::string& name : party_of(state, fault.node))
      parts.nodes.push_back(node_parts(state, name));
    parts.dependent = state.dependent;
  }
  if (fault.job.job_id != 0)
    parts.jobs.push_back(
        {.job_id = fault.job.job_id, .nodes = fault.job.nodes, .domains = fault.job.domains});
  return RestartTree(parts);
}

std::string why_left(const Policy& policy, const Fault& fault, const Cell& cell) {
  if (cell.level == Level::cluster) return "a person's word";
  if ((cell.level == Level::domain || cell.level == Level::group) && !policy.requeue)
    return "recover.requeue is off";
  if (cell.level != Level::node) return "";
  // (What cannot lose a node would be ended by its boot: then it is put back as a whole.)
  if (fault.of == FaultClass::job && !fault.job.alone)
    return "the job does not go on while one of its nodes is restarted alone";
  return policy.reboot ? "" : "drain.act and drain.reboot are not both on";
}

}  // namespace

std::string cell_of(const Fault& fault) {
  if (fault.of_whole_job()) return job_subject(fault.job.job_id);
  return level_of(fault) == Level::component ? fmt::format("{}/{}", fault.node, fault.component) : fault.node;
}
std::string kind_of(const Fault& fault) {
  const Level level = level_of(fault);
  return level == Level::component ? fmt::format("component {}", fault.component)
                                   : std::string(to_string(level));
}
Level level_of(const Fault& fault) {
  if (fault.of_whole_job()) return Level::group;
  const bool of_component = fault.of == FaultClass::component || fault.of == FaultClass::network;
  return of_component && !fault.component.empty() ? Level::component : Level::node;
}

Plan make_plan(const cluster::View& view, const State& state, const Policy& policy, const Fault& fault) {
  Plan plan;
  plan.refused = why_refused(view, state, fault);
  if (!plan.refused.empty()) return plan;
  const RestartTree tree = tree_around(state, fault);
  const Level level = level_of(fault);
  const auto from = level == Level::component ? tree.of_component(fault.node, fault.component)
                    : level == Level::group   ? tree.find(cell_of(fault))
                                              : tree.of_node(fault.node);
  const ClassRow& row = kClasses[static_cast<std::size_t>(fault.of)];
  std::vector<Step> ours;
  for (const std::size_t i : tree.path(from.value_or(RestartTree::kRoot))) {
    const Cell& cell = tree.cell(i);
    // Cells that cannot cure this class are not even shown; those that could and are not ours are, with the
    // reason.
    if (!may_cure(row, cell.level)) continue;
    PlannedCell planned{.cell = cell.name,
                        .kind = cell.kind(),
                        .level = cell.level,
                        .nodes = cell.level == Level::cluster ? std::vector<std::string>{} : tree.nodes_of(i),
                        .components = cell.components};
    // Measured, else what the agent said, else the usual time of the level for each component.
    const double parts = std::max<double>(1, static_cast<double>(cell.components.size()));
    const Seconds said = cell.takes > Seconds(0) ? cell.takes : parts * usual_time(cell.level);
    planned.takes = state.rates.restart_time(cell.name, planned.kind).value_or(said);
    planned.cures = state.rates.cure_rate(cell.name, planned.kind, cell.level, fault.kind());
    planned.left_to_people = why_left(policy, fault, cell);
    if (planned.left_to_people.empty())
      ours.push_back({plan.path.size(), planned.level, planned.takes, planned.cures});
    plan.path.push_back(std::move(planned));
  }
  if (const auto choice = choose(ours, policy.person)) {
    plan.start = static_cast<int>(ours[choice->start].cell);
    plan.expected = choice->expected;
  } else if (!plan.path.empty()) {
    plan.refused = fmt::format("{}: {}", plan.path.front().cell, plan.path.front().left_to_people);
  }
  return plan;
}

Json plan_view(const Plan& plan) {
  const auto micros = [](Seconds s) { return std::chrono::duration_cast<Micros>(s).count(); };
  Json path = Json::array();
  for (const PlannedCell& cell : plan.path)
    path.push(Json::object({{"cell", cell.cell},
                            {"kind", cell.kind},
                            {"level", to_string(cell.level)},
                            {"nodes", compress_hostlist(cell.nodes)},
                            {"components", cell.components},
                            {"takes_us", micros(cell.takes)},
                            // In whole numbers: a replay must read back the same plan, and a text of a double
                            // may differ.
                            {"cures_permille", std::lround(cell.cures * 1000)},
                            {"left_to_people", cell.left_to_people}}));
  return Json::object({{"path", std::move(path)},
                       {"start", plan.start},
                       {"expected_us", micros(plan.expected)},
                       {"refused", plan.refused}});
}

RestartTree tree_of(const cluster::View& view, const State& state, const std::vector<JobParts>& jobs) {
  TreeParts parts;
  for (const auto& [name, node] : view.nodes) parts.nodes.push_back(node_parts(state, name));
  parts.jobs = jobs;
  parts.dependent = state.dependent;
  return RestartTree(parts);
}

}  // namespace sickbay::recover
