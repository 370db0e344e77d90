// SPDX-License-Identifier: Apache-2.0
// A cluster whose rounds of verification are told to the engine as the journal would tell them.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/hostlist.h"
#include "engine/patrol/patrol.h"
#include "model/event_kinds.h"
#include "model/verbs.h"

namespace sickbay::patrol {

// A cluster n[1-10] of one partition, so that two nodes may be under verification at one time.
struct World {
  cluster::Cluster cluster;
  State state;
  Policy policy;
  TimePoint now = from_unix_seconds(1'800'000'000);
  std::vector<Event> journal;
  std::vector<Command> commands;
  JobId last_job = 100;

  World() { nodes("n[1-10]", "IDLE", true); }

  void take(Event event) {
    event.at = now;
    journal.push_back(event);
    cluster::apply(cluster, event);
    apply(state, cluster.view, event);
  }
  void nodes(const std::string& names, const std::string& shown, bool idle,
             const std::string& partition = "batch") {
    const bool usable = shown == "IDLE" || shown == "ALLOCATED" || shown == "MIXED";
    take(new_event(
        "cluster", kNodesSeen,
        Json::object({{"groups", Json::array({Json::object({{"nodes", names},
                                                            {"state", shown},
                                                            {"usable", usable},
                                                            {"down", shown == "DOWN"},
                                                            {"partitions", Json::array({partition})},
                                                            {"boot", 1},
                                                            {"idle", idle}})})}})));
  }
  void queue(const Json& partitions) {
    take(new_event("cluster", kQueueSeen, Json::object({{"partitions", partitions}})));
  }
  void ask(const std::string& names = "", int budget = 64, const std::string& round = "p1") {
    take(
        new_event(round, kPatrolAsked, Json::object({{"by", "root"}, {"nodes", names}, {"budget", budget}})));
    queue(Json::array());
  }
  // As the controller does it: claims first, then records and intents, until nothing is new.
  void settle() {
    for (int turn = 0; turn < 16; ++turn) {
      const Round* round = state.open();
      Decision decision = round == nullptr ? decide_opening(cluster, state, policy, now)
                                           : decide(cluster, state, policy, *round, now);
      bool news = false;
      for (const cluster::Claim& claim : decision.claims)
        if (cluster.claims.find(claim.on, now) == nullptr) {
          take(cluster::Claims::claimed(claim));
          news = true;
        }
      if (news) continue;
      for (Event& record : decision.records) {
        take(std::move(record));
        news = true;
      }
      for (const Command& command : decision.commands) {
        if (std::ranges::find(commands, command.key, &Command::key) != commands.end()) continue;
        commands.push_back(command);
        take(new_event(command.subject, kIntent,
                       Json::object({{"key", command.key}, {"verb", command.verb}, {"args", command.args}})));
        news = true;
      }
      if (!news) return;
    }
    ADD_FAILURE() << "it does not settle";
  }
  /// Slurm shows once more what it showed, as the close look after a claim.
  void look(const std::string& names) {
    nodes(names, "IDLE", true);
    settle();
  }
  void done(const std::string& key, const std::string& what, Json result = Json::object()) {
    take(new_event(key.substr(0, key.find('.')), kDone,
                   Json::object({{"key", key}, {"verb", what}, {"result", std::move(result)}})));
    settle();
  }
  void job(const std::string& run, const std::string& shown, TimePoint start) {
    JobInfo info;
    info.job_id =
        state.rounds.at(1).runs.at(static_cast<std::size_t>(parse_patrol_run(run)->n - 1)).job.job_id;
    info.state = shown;
    info.start = start;
    if (shown != "RUNNING" && shown != "PENDING") info.end = now;
    take(new_event("p1", kJobSeen, Json::object({{"run", run}, {"job", info.to_json()}})));
    settle();
  }
  void submitted(const std::string& run) {
    done(run + ":submit", std::string(verb::kSubmitVerification),
         Json::object({{"job_id", ++last_job}, {"submit", to_micros(now)}, {"uid", 998}}));
    done(run + ":release", std::string(verb::kRelease));
  }
  /// V runs and says these: "n1" -> "ok".
  void speaks(const std::string& run, const std::vector<std::pair<std::string, std::string>>& words,
              const std::string& fault = "compute") {
    submitted(run);
    const TimePoint start = now;
    job(run, "RUNNING", start);
    now += std::chrono::minutes(1);
    job(run, "COMPLETED", start);
    Json results = Json::array();
    for (const auto& [node, result] : words)
      results.push(Json::object({{"node", node},
                                 {"peer", ""},
                                 {"result", result},
                                 {"fault", result == "failed" ? fault : ""},
                                 {"reason", "because"}}));
    done(run + ":output", std::string(verb::kReadOutput), Json::object({{"results", results}, {"why", ""}}));
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> list;
    for (const Command& command : commands) list.push_back(command.key);
    return list;
  }
  const Command* find(const std::string& key) const {
    const auto it = std::ranges::find(commands, key, &Command::key);
    return it == commands.end() ? nullptr : &*it;
  }
  std::vector<const Event*> of_kind(std::string_view kind) const {
    std::vector<const Event*> list;
    for (const Event& event : journal)
      if (event.kind == kind) list.push_back(&event);
    return list;
  }
  std::string claims() const {
    std::vector<std::string> names;
    for (const auto& [on, claim] : cluster.claims.all()) names.emplace_back(node_of_subject(on));
    return compress_hostlist(sorted_hosts(names));
  }
  std::string standing(const std::string& node) {
    const Sight sight{cluster, cluster.view.wanted_partitions,
                      [this](const std::string& name) { return cluster.view.node(name)->idle; }};
    return std::string(to_string(choose(sight, state, policy, *state.open(), now).at(node).standing));
  }
};

}  // namespace sickbay::patrol
