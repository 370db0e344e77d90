// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hostlist.h"
#include "model/slurm_state.h"

namespace sickbay::cluster {
namespace {

void set_partitions(View& view, const std::string& name, const std::vector<std::string>& before,
                    const std::vector<std::string>& now) {
  if (before == now) return;
  for (const std::string& partition : before) view.partitions[partition].erase(name);
  for (const std::string& partition : now) view.partitions[partition].insert(name);
}

// Who has the node DOWN.  As long as it stays down that does not change, whatever reason is given later.
DownBy down_by(const Node* before, const Node& now) {
  if (!now.down) return DownBy::nobody;
  if (before && before->down) return before->down_by;
  // An older version told no reason, and took every DOWN for Slurm's.
  if (!now.reason) return DownBy::slurm;
  const auto state = parse_node_state(now.state);
  const bool silent = state && state->has(NodeFlag::not_responding);
  return who_set_down(now.reason->text, before && before->reason ? before->reason->text : "", silent);
}

void see_group(View& view, const Json& group) {
  auto names = expand_hostlist(group["nodes"].as_string());
  if (!names) return;
  const bool gone = group["gone"].as_bool();
  Node now = gone ? Node() : node_of(group);
  // By this an engine knows whether what it sees is older than what it did.
  now.look = view.looks;
  for (const std::string& name : *names) {
    const auto it = view.nodes.find(name);
    View::Change change{name, std::nullopt, gone};
    if (it != view.nodes.end()) change.before = it->second;
    if (!gone) now.down_by = down_by(change.before ? &*change.before : nullptr, now);
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
  // Of this event alone: engines that hear it after the view look at nothing else.
  view.changes.clear();
  if (event.kind == kNodesSeen) {
    ++view.looks;
    for (const Json& group : event.body["groups"].items()) see_group(view, group);
  } else if (event.kind == kControllerSeen) {
    view.controller_boot = from_micros(event.body["boot"].as_int());
  } else if (event.kind == kQueueSeen) {
    const std::vector<std::string> names = event.body["partitions"].as_strings();
    view.wanted_partitions = {names.begin(), names.end()};
  } else if (event.kind == kJobSeen) {
    JobInfo job = JobInfo::from_json(event.body["job"]);
    // A job may be watched by several subjects, each as it saw it last.
    const JobKey key{job.job_id, event.subject, event.body["run"].as_string()};
    view.jobs[key] = std::move(job);
  } else if (event.kind == kJobLost) {
    view.jobs.erase(
        {static_cast<JobId>(event.body["job_id"].as_int()), event.subject, event.body["run"].as_string()});
  } else if (closes_subject(event.kind)) {
    const auto first = view.jobs.lower_bound({0, event.subject, ""});
    auto last = first;
    while (last != view.jobs.end() && last->first.subject == event.subject) ++last;
    view.jobs.erase(first, last);
  }
}

std::string canonical_text(const View& view) {
  std::string text =
      fmt::format("slurmctld booted {}, {} looks\n", to_micros(view.controller_boot), view.looks);
  for (const auto& [name, n] : view.nodes)
    text += fmt::format("{} {} {}{}{}{} {} {} {} {} {}\n", name, n.state, n.usable, n.down, n.drained,
                        static_cast<int>(n.down_by), fmt::join(n.partitions, ","), to_micros(n.boot), n.idle,
                        n.look, n.reason ? fmt::format("{} by {}", n.reason->text, n.reason->uid) : "");
  for (const auto& [name, nodes] : view.partitions)
    text += fmt::format("partition {} {}\n", name, fmt::join(nodes, ","));
  if (!view.wanted_partitions.empty())
    text += fmt::format("jobs wait for {}\n", fmt::join(view.wanted_partitions, ","));
  for (const auto& [key, job] : view.jobs)
    text += fmt::format("{} {} {}\n", key.subject, key.run, job.to_json().dump());
  return text;
}

}  // namespace sickbay::cluster
