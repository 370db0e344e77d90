// SPDX-License-Identifier: Apache-2.0
// What happens to nodes in a scenario.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "base/words.h"
#include "engine/drain/drain.h"
#include "model/ids.h"
#include "service/lossy_watch.h"
#include "test/sim_runner/scenario_acts.h"
#include "test/sim_runner/scenario_run.h"

namespace sickbay::sim {
namespace {

/// What the agent of `node` says of a rule, as sickbayd takes it in.
bool find_on(ScenarioRun& run, const std::string& node, const std::string& rule, const std::string& result,
             const std::string& action = "drain") {
  if (rule.empty() || !run.world.sickbayd_runs()) return false;
  Event event;
  event.subject = fmt::format("f{}", ++run.findings);
  event.kind = kFinding;
  event.body = Json::object(
      {{"node", node},
       {"specification", "node"},
       {"rule", rule},
       {"result", result},
       {"action", result == "fault" ? action : "none"},
       {"boot_id", fmt::format("boot {}", to_unix_seconds(run.world.cluster().node(node)->boot_time))},
       {"text", rule + " is broken"}});
  run.world.controller().heard(node);
  run.world.controller().take({std::move(event)});
  return true;
}

/// What the agents of a run on `node` tell of its connections: of `value`, "LOST/SENT", segments to each
/// other node of the run; all else arrived.  With `asked` each node has asked a host outside the run, and of
/// what goes there the same share of `node`'s is lost.
bool lose_on(ScenarioRun& run, const std::string& node, const std::string& value, bool asked) {
  const std::size_t slash = value.find('/');
  if (slash == std::string::npos || !run.world.sickbayd_runs()) return false;
  const auto lost = to_integer(std::string_view(value).substr(0, slash));
  const auto sent = to_integer(std::string_view(value).substr(slash + 1));
  if (!lost || !sent || *sent <= 0 || *lost < 0 || *lost > *sent) return false;
  constexpr std::int64_t kAsked = 2000;
  for (const auto& seat : run.world.controller().seats().all())
    for (const RanksWatched& one : seat->ranks_watched()) {
      if (!has_host(one.nodes, node)) continue;
      LossyWatch watch(one.lossy);
      const auto address = [](std::size_t n) { return fmt::format("10.0.0.{}", n + 1); };
      for (std::size_t from = 0; from < one.nodes.size(); ++from) {
        const std::int64_t of = one.nodes[from] == node ? *lost : 0;
        TcpLosses losses{std::chrono::seconds(60), {address(from)}, {}, {}};
        for (std::size_t to = 0; to < one.nodes.size(); ++to)
          if (to != from) losses.peers.push_back({address(to), *sent, of});
        if (asked) losses.echoes = {{"10.99.0.1", kAsked, kAsked * of / *sent}};
        watch.take(one.nodes[from], std::move(losses));
      }
      const auto news = watch.news();
      if (!news) continue;
      Json body = to_json(*news);
      body.set("run", one.run).set("job_id", one.job_id);
      run.world.controller().take({new_event(one.subject, kLossySeen, std::move(body))});
    }
  return true;
}

std::string blanks(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

/// What can happen to a node.  `value` is the text after '='.
struct NodeWord {
  std::string_view name;
  bool (*act)(ScenarioRun& run, const std::string& node, const std::string& value, const Words& more);
};
constexpr auto
    kNodeWords =
        std::to_array<NodeWord>(
            {
                {"crash",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().crash_node(node);
                   return true;
                 }},
                {"cut",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().cut_node(node);
                   return true;
                 }},
                {"cut-from",
                 [](ScenarioRun& run, const std::string& node, const std::string& other, const Words&) {
                   if (!run.world.cluster().node(other) || other == node) return false;
                   run.world.cluster().cut_pair(node, other);
                   return true;
                 }},
                {"heal",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().heal(node);
                   return true;
                 }},
                // By itself or by hand, and fast.
                {"boot",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().crash_node(node);
                   run.world.cluster().heal(node);
                   return true;
                 }},
                // Its agent greets sickbayd.
                {"hello",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   if (!run.world.sickbayd_runs()) return false;
                   const auto boot = to_unix_seconds(run.world.cluster().node(node)->boot_time);
                   Event event;
                   event.subject = node_subject(node);
                   event.kind = drain::kAgentSeen;
                   event.body = Json::object({{"version", "1"}, {"boot_id", fmt::format("boot {}", boot)}});
                   run.world.controller().heard(node);
                   run.world.controller().take({std::move(event)});
                   return true;
                 }},
                {"agent",
                 [](ScenarioRun& run, const std::string& node, const std::string& how, const Words&) {
                   run.world.agents[node] = how;
                   return how == "ok" || how == "sick" || how == "silent";
                 }},
                {"finding",
                 [](ScenarioRun& run, const std::string& node, const std::string& rule, const Words&) {
                   return find_on(run, node, rule, "fault");
                 }},
                {"finding-for-reboot",
                 [](ScenarioRun& run, const std::string& node, const std::string& rule, const Words&) {
                   return find_on(run, node, rule, "fault", "reboot");
                 }},
                {"gone",
                 [](ScenarioRun& run, const std::string& node, const std::string& rule, const Words&) {
                   return find_on(run, node, rule, "ok");
                 }},
                // By an operator, "drain=REASON" and "down=REASON"; '_' stands for a blank.
                {"drain",
                 [](ScenarioRun& run, const std::string& node, const std::string& reason, const Words&) {
                   run.world.cluster().set_drain(node, reason.empty() ? "disk exchange" : blanks(reason));
                   return true;
                 }},
                {"down",
                 [](ScenarioRun& run, const std::string& node, const std::string& reason, const Words&) {
                   run.world.cluster().set_down(node, reason.empty() ? "set by root" : blanks(reason));
                   return true;
                 }},
                {"rank-kill",
                 [](ScenarioRun& run, const std::string& node, const std::string& value, const Words& more) {
                   SimNodeFaults faults{.kill_signal = signal_number(value)};
                   for (const auto& word : more)
                     if (const auto [key, share] = key_value(word); key == "share")
                       faults.kill_share = number(share).value_or(0);
                   run.world.cluster().set_faults(node, faults);
                   return faults.kill_signal != 0;
                 }},
                {"slow",
                 [](ScenarioRun& run, const std::string& node, const std::string& value, const Words&) {
                   run.world.cluster().set_faults(node, {.speed = number(value).value_or(0)});
                   return number(value).value_or(0) > 0;
                 }},
                {"loss",
                 [](ScenarioRun& run, const std::string& node, const std::string& value, const Words&) {
                   run.world.cluster().set_faults(node, {.loss = number(value).value_or(0)});
                   return number(value).value_or(0) > 0;
                 }},
                {"loses",
                 [](ScenarioRun& run, const std::string& node, const std::string& value, const Words& more) {
                   return lose_on(run, node, value, std::ranges::find(more, "asked") != more.end());
                 }},
                {"full",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().set_faults(node, {.full = true});
                   return true;
                 }},
                {"bad-disk",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().set_faults(node, {.bad_disk = true});
                   return true;
                 }},
                {"storage-away",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().set_faults(node, {.storage_away = true});
                   return true;
                 }},
                {"spool-full",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().set_faults(node, {.spool_full = true});
                   return true;
                 }},
                {"bad-memory",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().set_faults(node, {.bad_memory = true});
                   return true;
                 }},
            });

}  // namespace

Result<Act> node_act(const Words& words) {
  const auto said = key_value(words[1]);
  const auto row =
      std::find_if(kNodeWords.begin(), kNodeWords.end(), [&](const auto& w) { return w.name == said.first; });
  if (row == kNodeWords.end()) return bad(fmt::format("nothing called '{}' happens to a node", words[1]));
  return Act([words, row, value = said.second](ScenarioRun& run) -> Status {
    const auto nodes = expand_hostlist(words[0]);
    if (!nodes) return fail(nodes.error());
    for (const auto& node : *nodes) {
      if (!run.world.cluster().node(node)) return bad(fmt::format("no node '{}' in this cluster", node));
      if (!row->act(run, node, value, words)) return bad(fmt::format("'{}' has a bad value", words[1]));
    }
    return {};
  });
}

}  // namespace sickbay::sim
