// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/view.h"

#include <fmt/format.h>

#include "base/hostlist.h"

namespace sickbay::cluster {
namespace {

void set_partitions(View& view, const std::string& name, const std::vector<std::string>& before,
                    const std::vector<std::string>& now) {
  if (before == now) return;
  for (const std::string& partition : before) view.partitions[partition].erase(name);
  for (const std::string& partition : now) view.partitions[partition].insert(name);
}

void see_group(View& view, const Json& group) {
  auto names = expand_hostlist(group["nodes"].as_string());
  if (!names) return;
  const bool gone = group["gone"].as_bool();
  Node now = gone ? Node() : node_of(group);
  now.look = view.looks;
  for (const std::string& name : *names) {
    const auto it = view.nodes.find(name);
    View::Change change{name, std::nullopt, gone};
    if (it != view.nodes.end()) change.before = it->second;
    set_partitions(view, name, change.before ? change.before->partitions : std::vector<std::string>{},
                   now.partitions);
    if (!gone)
      view.nodes[name] = now;
    else if (it != view.nodes.end())
      view.nodes.erase(it);
    view.changes.push_back(std::move(change));
  }
}

}  // namespace

std::vector<std::string> View::went_down() const {
  std::vector<std::string> names;
  for (const Change& change : changes)
    if (is_down(change.name) && !(change.before && change.before->down)) names.push_back(change.name);
  return sorted_hosts(std::move(names));
}

void apply(View& view, const Event& event) {
  view.changes.clear();
  if (event.kind == kNodesSeen) {
    ++view.looks;
    for (const Json& group : event.body["groups"].items()) see_group(view, group);
  } else if (event.kind == kControllerSeen) {
    view.controller_boot = from_micros(event.body["boot"].as_int());
  } else if (event.kind == kJobSeen) {
    JobInfo job = JobInfo::from_json(event.body["job"]);
    const JobKey key{job.job_id, event.subject, event.body["run"].as_string()};
    view.jobs[key] = std::move(job);
  } else if (event.kind == kJobLost) {
    view.jobs.erase(
        {static_cast<JobId>(event.body["job_id"].as_int()), event.subject, event.body["run"].as_string()});
  } else if (closes_subject(event.kind)) {
    std::erase_if(view.jobs, [&](const auto& entry) { return entry.first.subject == event.subject; });
  }
}

std::string canonical_text(const View& view) {
  std::string text =
      fmt::format("slurmctld booted {}, {} looks\n", to_micros(view.controller_boot), view.looks);
  for (const auto& [name, n] : view.nodes)
    text += fmt::format("{} {} {}{}{} {} {} {} {}\n", name, n.state, n.usable, n.down, n.drained,
                        fmt::join(n.partitions, ","), to_micros(n.boot), n.idle, n.look);
  for (const auto& [name, nodes] : view.partitions)
    text += fmt::format("partition {} {}\n", name, fmt::join(nodes, ","));
  for (const auto& [key, job] : view.jobs)
    text += fmt::format("{} {} {}\n", key.subject, key.run, job.to_json().dump());
  return text;
}

}  // namespace sickbay::cluster
