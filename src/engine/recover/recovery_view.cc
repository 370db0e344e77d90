// SPDX-License-Identifier: Apache-2.0
// Recoveries as values: in the journal, for people, and as the text that a replay must bring back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/recover/recover.h"
#include "model/slurm_state.h"

namespace sickbay::recover {
namespace {

std::vector<std::string> hosts(const Json& hostlist) {
  auto nodes = expand_hostlist(hostlist.as_string());
  return nodes ? sorted_hosts(std::move(*nodes)) : std::vector<std::string>{};
}

}  // namespace

FaultJob FaultJob::of(const JobInfo& info) {
  FaultJob job;
  job.job_id = info.job_id;
  job.uid = info.uid;
  job.restart_cnt = info.restart_cnt;
  job.nodes = hosts(info.nodes);
  job.submit = info.submit;
  job.partition = info.partition;
  const auto seen = parse_job_state(info.state, info.flags);
  job.over = seen && is_terminal(*seen);
  return job;
}

Json FaultJob::to_json() const {
  Json list = Json::array();
  for (const std::vector<std::string>& domain : domains) list.push(compress_hostlist(domain));
  Json json = Json::object({{"job_id", job_id},
                            {"uid", uid},
                            {"restart_cnt", restart_cnt},
                            {"nodes", compress_hostlist(nodes)},
                            {"domains", std::move(list)},
                            {"alone", alone}});
  if (submit != kNoTime) json.set("submit", to_micros(submit));
  if (!partition.empty()) json.set("partition", partition);
  if (!exclude.empty()) json.set("exclude", compress_hostlist(exclude));
  if (over) json.set("over", true);
  return json;
}

FaultJob FaultJob::from_json(const Json& json) {
  FaultJob job;
  job.job_id = static_cast<JobId>(json["job_id"].as_int());
  job.uid = static_cast<std::uint32_t>(json["uid"].as_int());
  job.restart_cnt = static_cast<std::uint32_t>(json["restart_cnt"].as_int());
  job.nodes = hosts(json["nodes"]);
  for (const Json& domain : json["domains"].items()) job.domains.push_back(hosts(domain));
  job.alone = json["alone"].as_bool();
  if (json.has("submit")) job.submit = from_micros(json["submit"].as_int());
  job.partition = json["partition"].as_string();
  job.exclude = hosts(json["exclude"]);
  job.over = json["over"].as_bool();
  return job;
}

Fault Fault::of_job(const JobInfo& job, const std::string& node, bool alone, std::string source) {
  Fault fault;
  fault.of = FaultClass::job;
  fault.node = node;
  fault.source = std::move(source);
  fault.job = FaultJob::of(job);
  fault.job.alone = alone;
  if (!node.empty()) fault.job.exclude = {node};
  return fault;
}

Json Fault::to_json() const {
  Json json = Json::object({{"class", to_string(of)},
                            {"node", node},
                            {"component", component},
                            {"source", source},
                            {"text", text}});
  if (!rule.empty()) json.set("rule", rule);
  if (job.job_id != 0) json.set("job", job.to_json());
  return json;
}

Fault Fault::from_json(const Json& json) {
  Fault fault;
  // A word of a newer version: nothing that we would restart.
  fault.of = fault_class_from(json["class"].as_string()).value_or(FaultClass::cluster);
  fault.node = json["node"].as_string();
  fault.component = json["component"].as_string();
  fault.source = json["source"].as_string();
  fault.text = json["text"].as_string();
  fault.rule = json["rule"].as_string();
  fault.job = FaultJob::from_json(json["job"]);
  return fault;
}

std::string StepTaken::key(std::int64_t recovery) const {
  return fmt::format("{}.s{}", recovery_name(recovery), n);
}

const StepTaken* Recovery::under_way() const {
  return steps.empty() || steps.back().ended != kNoTime ? nullptr : &steps.back();
}

Json recovery_view(const Recovery& recovery) {
  Json steps = Json::array();
  for (const StepTaken& step : recovery.steps) {
    const PlannedCell& cell = recovery.plan.path[step.cell];
    steps.push(Json::object({{"step", step.n},
                             {"cell", cell.cell},
                             {"level", to_string(cell.level)},
                             {"began_at", to_micros(step.began)},
                             {"ended_at", step.ended == kNoTime ? Json() : Json(to_micros(step.ended))},
                             {"restarted", step.restarted},
                             {"cured", step.cured},
                             {"took_us", step.took.count()},
                             {"said", step.said}}));
  }
  const bool over = !recovery.open();
  return Json::object({{"recovery", recovery.name()},
                       {"open", !over},
                       {"fault", recovery.fault.to_json()},
                       {"opened_at", to_micros(recovery.opened_at)},
                       {"closed_at", over ? Json(to_micros(recovery.closed_at)) : Json()},
                       {"outcome", over ? Json(to_string(recovery.outcome)) : Json()},
                       {"why", recovery.why},
                       {"acts", recovery.acts},
                       {"plan", plan_view(recovery.plan)},
                       {"steps", std::move(steps)}});
}

std::map<std::string, std::int64_t> looked_at(const State& state) {
  std::map<std::string, std::int64_t> nodes;
  for (const std::int64_t no : state.open)
    if (const StepTaken* step = state.recoveries.at(no).under_way(); step != nullptr && step->handed)
      // (0: none of them must be told of once more; a closer look alone is wished for.)
      for (const auto& [name, boot] : step->boots) nodes[name] = 0;
  return nodes;
}

bool waits_for_boot(const State& state, const cluster::View& view) {
  return std::ranges::any_of(state.open, [&](std::int64_t no) {
    const StepTaken* step = state.recoveries.at(no).under_way();
    if (step == nullptr || !step->handed || step->restarted) return false;
    // Asked to boot, or empty so that it may be at any moment: then looks are close (every two seconds).
    // While its jobs still run nothing is to be seen for hours.
    return step->rebooting != kNoTime || std::ranges::any_of(step->boots, [&](const auto& boot) {
             const cluster::Node* node = view.node(boot.first);
             const auto shown =
                 node == nullptr ? Result<NodeState>(NodeState{}) : parse_node_state(node->state);
             return shown && (shown->base == NodeBase::idle || shown->base == NodeBase::down);
           });
  });
}

std::vector<Watched> watched(const State& state) {
  std::vector<Watched> list;
  for (const std::int64_t no : state.open) {
    const FaultJob& job = state.recoveries.at(no).fault.job;
    if (job.job_id != 0 && !job.ended)
      list.push_back({job.job_id, job.uid, recovery_name(no), recovery_name(no) + ".job"});
  }
  return list;
}

std::string canonical_text(const State& state) {
  std::string text = fmt::format("recover last {} open [{}]\n", state.last, fmt::join(state.open, ","));
  for (const auto& [no, r] : state.recoveries) {
    text += fmt::format(
        "{} {} opened {} closed {} {} '{}' planned {} acts {} gone {} job ended {} stopped '{}' {}\n",
        r.name(), r.fault.to_json().dump(), to_micros(r.opened_at), to_micros(r.closed_at),
        to_string(r.outcome), r.why, r.planned, r.acts, r.source_gone, r.fault.job.ended, r.stopped_by,
        plan_view(r.plan).dump());
    for (const StepTaken& s : r.steps) {
      text += fmt::format("  {} cell {} began {} ended {} {}{}{}{}{}{} rebooting {} took {} [{}] '{}' '{}'",
                          s.key(no), s.cell, to_micros(s.began), to_micros(s.ended), s.handed, s.checking,
                          s.restarted, s.cured, s.unknown, s.kept_away ? " kept away" : "",
                          to_micros(s.rebooting), s.took.count(), fmt::join(s.back, ","), s.overdue, s.said);
      for (const auto& [name, boot] : s.boots) text += fmt::format(" {} {}", name, to_micros(boot));
      text += "\n";
    }
  }
  for (const auto& [no, fault] : state.wanted)
    text += fmt::format("wanted {} {}\n", no, fault.to_json().dump());
  for (const auto& [no, asked] : state.asked)
    text += fmt::format("asked {} {} [{}] '{}'{}\n", no, asked.job.to_json().dump(),
                        fmt::join(asked.blamed, ","), asked.sentence, asked.put_off ? " put off" : "");
  for (const auto& [no, fault] : state.wanted_jobs)
    text += fmt::format("wanted of case {} {}\n", no, fault.to_json().dump());
  for (const auto& [name, list] : state.components) {
    text += fmt::format("components {}:", name);
    for (const Component& c : list)
      text += fmt::format(" {} [{}] {}", c.name, fmt::join(c.needs, ","), c.takes.count());
    text += "\n";
  }
  for (const auto& set : state.dependent) text += fmt::format("dependent [{}]\n", fmt::join(set, ","));
  for (const auto& [cell, cure] : state.last_cures)
    text += fmt::format("last cure {} {} {} {} {} {}\n", cell, to_micros(cure.at), cure.cell, cure.kind,
                        cure.fault, to_string(cure.level));
  for (const auto& [cell, times] : state.opened) {
    text += fmt::format("opened {}", cell);
    for (const TimePoint at : times) text += fmt::format(" {}", to_micros(at));
    text += "\n";
  }
  return text + state.rates.canonical_text();
}

}  // namespace sickbay::recover
