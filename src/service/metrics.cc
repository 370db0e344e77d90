// SPDX-License-Identifier: Apache-2.0
#include "service/metrics.h"

#include <fmt/format.h>

#include <map>

#include "service/agents.h"
#include "service/api_call.h"
#include "service/nonstop/nonstop_service.h"

namespace sickbay {
namespace {

class Text {
 public:
  void head(std::string_view name, std::string_view type, std::string_view help) {
    out += fmt::format("# HELP sickbay_{0} {2}\n# TYPE sickbay_{0} {1}\n", name, type, help);
  }
  template <class Value>
  void line(std::string_view name, std::string_view labels, Value value) {
    out += labels.empty() ? fmt::format("sickbay_{} {}\n", name, value)
                          : fmt::format("sickbay_{}{{{}}} {}\n", name, labels, value);
  }
  template <class Value>
  void one(std::string_view name, std::string_view type, std::string_view help, Value value) {
    head(name, type, help);
    line(name, "", value);
  }
  std::string out;
};

double seconds(Micros time) { return static_cast<double>(time.count()) / 1e6; }

void add_agents(Text& t, const Agents& agents) {
  const Agents::Presence all = agents.presence();
  t.one("findings_left_out_total", "counter", "Findings of nodes of which so many stand already.",
        agents.left_out());
  t.one("tellings_held_back_total", "counter",
        "Tellings of agents that had to wait: their nodes tell too much.", agents.held_back());
  t.head("agents", "gauge", "Nodes with an agent, by whether it asked something in the last two minutes.");
  t.line("agents", "state=\"present\"", all.present);
  t.line("agents", "state=\"silent\"", all.silent);
  if (all.present + all.silent == 0) return;  // no silence of nobody
  t.one("agents_last_heard_seconds", "gauge", "Time since any agent asked something, or since the start.",
        seconds(all.newest));
  t.one("agents_longest_silence_seconds", "gauge",
        "Time since the agent that is silent longest asked something, or since the start.",
        seconds(all.longest));
}

void add_nonstop(Text& t, const Controller& controller, const NonstopCounts& counts) {
  const nonstop::State& state = controller.seats().nonstop().state();
  std::size_t faulty = 0;
  for (const auto& [id, job] : state.jobs) faulty += job.faulty.size();
  t.one("nonstop_jobs", "gauge", "Running jobs in which a node could be replaced.", state.jobs.size());
  t.one("nonstop_jobs_busy", "gauge", "Those with a request under way.", state.busy.size());
  t.one("nonstop_faulty_nodes", "gauge", "Failed and failing nodes of running jobs.", faulty);
  t.one("nonstop_connections", "gauge", "Clients of the nonstop protocol.", counts.server.connections);
  t.one("nonstop_waiting", "gauge", "Clients that wait for what they asked for.", counts.waiting);
  t.one("nonstop_streams", "gauge", "Programs that listen to events of their jobs.",
        counts.listeners.streams);
  t.head("nonstop_answers_total", "counter", "Answers by command and code (doc/formats/nonstop.md).");
  for (const auto& [key, count] : counts.answers)
    t.line("nonstop_answers_total", fmt::format("command=\"{}\",code=\"{}\"", key.first, key.second), count);
  t.head("nonstop_refused_total", "counter", "Clients without an answer, by why.");
  t.line("nonstop_refused_total", "why=\"credential\"", counts.refused);
  t.line("nonstop_refused_total", "why=\"late\"", counts.server.late);
  t.line("nonstop_refused_total", "why=\"garbled\"", counts.server.garbled);
  t.line("nonstop_refused_total", "why=\"too_many\"", counts.server.refused);
  t.one("nonstop_events_total", "counter", "Events told over streams.", counts.listeners.told);
  t.one("nonstop_calls_total", "counter", "Calls to programs that want to be called.",
        counts.listeners.calls);
  t.one("nonstop_calls_failed_total", "counter", "Those that did not get through.",
        counts.listeners.calls_failed);
  t.head("spares", "gauge", "Hot spares by partition: wanted, and ready to be drawn.");
  const Json pools = spares_view(controller);
  for (const Json& pool : pools.items())
    for (const std::string_view what : {"wanted", "ready"})
      t.line("spares", fmt::format("partition=\"{}\",count=\"{}\"", pool["partition"].as_string(), what),
             pool[what].as_int());
}

}  // namespace

std::string metrics_text(const Controller& controller, const ResourceManager& manager, const Agents* agents,
                         const NonstopCounts* nonstop) {
  Text t;
  const auto& state = controller.seats().cases().state();
  const Controller::Health& h = controller.health();

  std::map<std::string, int> nodes;
  for (const auto& [name, node] : controller.watch().nodes()) ++nodes[node.state];
  t.head("nodes", "gauge", "Nodes by Slurm's base state, as last seen.");
  for (const auto& [name, count] : nodes) t.line("nodes", fmt::format("state=\"{}\"", name), count);

  std::map<std::string_view, int> standings;
  const cluster::Cluster& cluster = controller.seats().cluster();
  const drain::Known drains = controller.seats().drains().known(controller.now());
  for (const auto& [name, node] : cluster.view.nodes) ++standings[drain::standing(drains, name)];
  t.head("nodes_service", "gauge", "Nodes by what Sickbay does about them (sickbay nodes, SERVICE).");
  for (const auto& [name, count] : standings)
    t.line("nodes_service", fmt::format("standing=\"{}\"", name), count);
  t.head("breaker_tripped", "gauge", "1 while the breaker of a partition keeps nodes in service.");
  for (const auto& [name, members] : cluster.view.partitions) {
    const auto partition = cluster.breaker.partitions().find(name);
    const bool tripped = partition != cluster.breaker.partitions().end() && partition->second.tripped;
    t.line("breaker_tripped", fmt::format("partition=\"{}\"", name), tripped ? 1 : 0);
  }
  std::map<std::string_view, int> claims;
  for (const auto& [on, claim] : cluster.claims.all()) ++claims[claim.holder];
  t.head("claims", "gauge", "Nodes and jobs that only one engine may act on just now, by engine.");
  for (const auto& [holder, count] : claims) t.line("claims", fmt::format("holder=\"{}\"", holder), count);
  t.one("subjects_parked", "gauge", "Subjects left alone because an engine does not settle on them.",
        controller.parked());

  if (agents != nullptr) add_agents(t, *agents);
  if (nonstop != nullptr) add_nonstop(t, controller, *nonstop);

  std::map<std::string_view, int> verdicts;
  std::map<std::pair<std::string_view, std::string_view>, int> runs;
  for (const auto& [no, c] : state.cases) {
    if (c.verdict && c.verdict->final) ++verdicts[to_string(c.verdict->cause)];
    for (const auto* list : {&c.programs, &c.verifications, &c.result_checks})
      for (const identify::Run& run : *list)
        ++runs[{run.is_program() ? "program"
                : run.is_check() ? "check"
                                 : "verification",
                to_string(run.outcome)}];
  }
  t.one("cases_open", "gauge", "Cases under investigation.", state.open.size());
  t.head("cases_total", "counter", "Cases with a final verdict, by cause.");
  for (const auto& [cause, count] : verdicts)
    t.line("cases_total", fmt::format("cause=\"{}\"", cause), count);
  t.head("runs", "gauge", "Runs of all cases by kind and outcome.");
  for (const auto& [key, count] : runs)
    t.line("runs", fmt::format("kind=\"{}\",outcome=\"{}\"", key.first, key.second), count);

  t.one("commands_open", "gauge", "Commands intended and not yet done.", controller.ledger().open());
  t.one("commands_total", "counter", "Commands ever intended.", controller.ledger().ever());
  t.one("journal_events_total", "counter", "Events in the journal.", controller.journal().last_seq());
  t.one("journal_bytes", "gauge", "Size of the journal on disk.", controller.journal().size_bytes());
  t.one("journal_ok", "gauge", "1 while the journal takes events.", h.journal ? 1 : 0);
  t.one("rounds_total", "counter", "Rounds of the loop since the start.", h.rounds);
  t.one("round_longest_seconds", "gauge", "Longest round since the start.", seconds(h.longest_round));
  t.one("slurm_ok", "gauge", "1 while slurmctld answers.", controller.watch().health().slurm ? 1 : 0);
  t.one("slurm_refreshes_total", "counter", "Looks at the queue since the start.",
        controller.watch().health().looks);

  t.head("slurm_calls_total", "counter", "Calls to Slurm by name.");
  for (const CallCount& c : manager.calls())
    t.line("slurm_calls_total", fmt::format("call=\"{}\"", c.call), c.count);
  t.head("slurm_call_errors_total", "counter", "Calls to Slurm that failed.");
  for (const CallCount& c : manager.calls())
    t.line("slurm_call_errors_total", fmt::format("call=\"{}\"", c.call), c.errors);
  t.head("slurm_call_seconds_total", "counter", "Time spent in calls to Slurm.");
  for (const CallCount& c : manager.calls())
    t.line("slurm_call_seconds_total", fmt::format("call=\"{}\"", c.call), c.seconds);
  return t.out;
}

}  // namespace sickbay
