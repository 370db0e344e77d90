// SPDX-License-Identifier: Apache-2.0
#include "legacy_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "engine/drain/parts.h"
#include "engine/identify/case_view.h"
#include "model/ids.h"

namespace sickbay {
namespace {

template <class Map>
void add_names(std::set<std::string>& names, const Map& map) {
  for (const auto& [name, value] : map) names.insert(name);
}

template <class Map>
typename Map::mapped_type value_or_default(const Map& map, const std::string& name) {
  const auto it = map.find(name);
  return it == map.end() ? typename Map::mapped_type{} : it->second;
}

// It had one entry for what Slurm shows of a node and what cases have learnt of it; today's records are only
// of nodes that some case or agent has spoken of.
Json identify_node(const std::string& name, const cluster::Node& shown, const identify::NodeRecord& record) {
  Json signs = Json::array();
  for (const identify::Sign& sign : record.signs)
    signs.push(Json::array({sign.source, sign.rule, to_micros(sign.at), to_micros(sign.gone_at)}));
  return Json::object({{"node", name},
                       {"signs", std::move(signs)},
                       {"state", shown.state},
                       {"usable", shown.usable},
                       {"down", shown.down},
                       {"partitions", shown.partitions},
                       {"passed_at", to_micros(record.passed_at)},
                       {"failed_at", to_micros(record.failed_at)},
                       {"failed_case", record.failed_case}});
}

// Facts that lie in old journals and that nobody read then: silent nodes, what V said for other cases, and
// what a run was before Slurm started it again.
identify::Case as_then(identify::Case c) {
  c.suspects.clear();
  std::erase_if(c.signs, [](const identify::CaseSign& s) { return parse_run_id(s.sign.source).has_value(); });
  for (identify::Run& run : c.programs) run.earlier.clear();
  return c;
}

// Of which kind a piece of evidence is was not told.
Json without_kinds(const Json& evidence) {
  Json list = Json::array();
  for (const Json& row : evidence.items()) {
    Json then = Json::object();
    for (const auto& [name, value] : row.members())
      if (name != "what") then.set(name, value);
    list.push(std::move(then));
  }
  return list;
}

std::string case_line(const identify::Case& newer) {
  const identify::Case c = as_then(newer);
  Json line = identify::case_view(c);
  line.set("evidence", without_kinds(line["evidence"]));
  Json inner = Json::array();
  for (const auto* runs : {&c.programs, &c.verifications, &c.result_checks})
    for (const identify::Run& run : *runs)  // (bad_constraints is new since)
      inner.push(Json::object({{"bound", run.bound},
                               {"releases", run.releases},
                               {"release_done", run.release_done},
                               {"cancel_wanted", run.cancel_wanted},
                               {"output_read", run.output_read},
                               {"released_at", to_micros(run.released_at)},
                               {"seen_at", to_micros(run.seen_at)},
                               {"released_boot", to_micros(run.released_boot)},
                               {"job", run.job.to_json()}}));
  line.set("inner", std::move(inner)).set("cancel_requested", c.cancel_requested);
  return line.dump() + "\n";
}

std::string identify_text(const cluster::View& view, const identify::State& state) {
  std::set<std::string> names;
  add_names(names, view.nodes);
  add_names(names, state.records);
  Json nodes = Json::array();
  for (const std::string& name : names)
    nodes.push(
        identify_node(name, value_or_default(view.nodes, name), value_or_default(state.records, name)));
  std::string text = Json::object({{"boot", to_micros(view.controller_boot)},
                                   {"last_case", state.last_case},
                                   {"nodes", std::move(nodes)}})
                         .dump() +
                     "\n";
  for (const auto& [no, c] : state.cases) text += case_line(c);
  return text;
}

// It had an entry for every node that Slurm ever showed; those of nodes with which the engine has nothing to
// do held defaults besides what the view has today.
std::string drain_node(const cluster::View& view, const std::string& name, const drain::Node& n) {
  const drain::Seen now = drain::seen(view, name, n);
  std::string text =
      fmt::format("{} {} {}{}{}{}{}{} {} {} {} {} {} {}\n", name,
                  fmt::join(value_or_default(view.nodes, name).partitions, ","), now.known, now.drained,
                  now.down, n.ours, n.pending, n.checking, n.numbers.drains, n.numbers.lifts,
                  n.numbers.checks, to_micros(n.drained_at), to_micros(n.checked_at), n.refused);
  text += fmt::format("  boot {} {} {} {} {} {} {}\n", to_micros(now.boot), now.idle, n.numbers.reboots,
                      n.rebooting, to_micros(n.reboot_at), to_micros(n.boot_before), n.reboot_failed);
  for (const auto& [rule, reboot] : n.rebooted)
    text += fmt::format("  rebooted {} {} {}\n", rule, to_micros(reboot.at), reboot.boot_id);
  for (const auto& [source, r] : n.reasons)
    text += fmt::format("  {} {} {} {} {} {} {} {} {}\n", source, r.rule, r.action, to_micros(r.since),
                        to_micros(r.gone_at), r.observed, r.boot_id, r.reboot_asked, r.text);
  for (const auto& [source, finding] : n.notices) text += fmt::format("  tell {}\n", source);
  return text;
}

std::string partitions_text(const cluster::Cluster& cluster) {
  std::set<std::string> names;
  add_names(names, cluster.view.partitions);
  add_names(names, cluster.breaker.partitions());
  std::string text;
  for (const std::string& name : names) {
    const auto counted = value_or_default(cluster.breaker.partitions(), name);
    text += fmt::format("{} {} {}:", name, fmt::join(value_or_default(cluster.view.partitions, name), ","),
                        counted.tripped);
    for (const auto& [at, node] : counted.left) text += fmt::format(" {}@{}", node, to_micros(at));
    text += "\n";
  }
  return text;
}

std::string drain_text(const cluster::Cluster& cluster, const drain::State& state) {
  std::set<std::string> names, waiting;
  add_names(names, cluster.view.nodes);
  add_names(names, state.nodes);
  std::string text;
  for (const std::string& name : names)
    text += drain_node(cluster.view, name, value_or_default(state.nodes, name));
  text += partitions_text(cluster);
  for (const auto& [rule, until] : state.resting)
    text += fmt::format("{} rests until {}\n", rule, to_micros(until));
  for (const std::string& by : cluster.breaker.waiting())
    waiting.emplace(node_of_subject(by));  // only nodes could wait then
  return text + fmt::format("waiting {}\naway {}\n", fmt::join(waiting, ","), fmt::join(state.away, ","));
}

}  // namespace

std::string legacy_text(const Seats& seats) {
  return identify_text(seats.cluster().view, seats.cases().state()) +
         drain_text(seats.cluster(), seats.drains().state());
}

}  // namespace sickbay
