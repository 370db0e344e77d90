// SPDX-License-Identifier: Apache-2.0
// What the tests of this room share: events, and a cluster that takes them in as the controller does.
#pragma once
#include <string>
#include <vector>

#include "engine/cluster/cluster.h"
#include "model/ids.h"

namespace sickbay::cluster {

inline const TimePoint kStart = from_unix_seconds(1'800'000'000);

inline Event event_of(std::string subject, std::string_view kind, Json body, TimePoint at = kStart) {
  Event event;
  event.at = at;
  event.v = 2;
  event.subject = std::move(subject);
  event.kind = kind;
  event.body = std::move(body);
  return event;
}

/// A group of nodes_seen, of nodes that stand in Slurm as `shown` says: "IDLE+DRAIN".
inline Json group(const std::string& hostlist, const std::string& shown,
                  const std::vector<std::string>& partitions = {"batch"}) {
  return Json::object({{"nodes", hostlist},
                       {"state", shown},
                       {"usable", shown == "IDLE"},
                       {"down", shown.starts_with("DOWN")},
                       {"partitions", partitions}});
}
inline Json gone(const std::string& hostlist) { return Json::object({{"nodes", hostlist}, {"gone", true}}); }
inline Event nodes_seen(Json groups, TimePoint at = kStart) {
  return event_of("cluster", kNodesSeen, Json::object({{"groups", std::move(groups)}}), at);
}

inline Event job_seen(const std::string& subject, const std::string& run, JobId id,
                      const std::string& state = "RUNNING") {
  JobInfo job;
  job.job_id = id;
  job.state = state;
  return event_of(subject, kJobSeen, Json::object({{"run", run}, {"job", job.to_json()}}));
}

/// A cluster, its clock and all that it heard.
struct Scene {
  Cluster cluster;
  TimePoint now = kStart;
  std::vector<Event> log;

  void take(Event event) {
    event.seq = static_cast<std::int64_t>(log.size()) + 1;
    event.at = now;
    apply(cluster, event);
    log.push_back(std::move(event));
  }
  void say(std::string subject, std::string_view kind, Json body = Json::object()) {
    take(event_of(std::move(subject), kind, std::move(body)));
  }
  void see(const std::string& hostlist, const std::string& shown,
           const std::vector<std::string>& partitions = {"batch"}) {
    take(nodes_seen(Json::array({group(hostlist, shown, partitions)})));
  }
  void lose(const std::string& hostlist) { take(nodes_seen(Json::array({gone(hostlist)}))); }
  void claim(const std::string& on, const std::string& holder, const std::string& by, bool out = true,
             TimePoint until = kNever) {
    take(Claims::claimed(
        {.on = on, .holder = holder, .by = by, .reason = "a test", .out = out, .until = until}));
  }
  /// A command that takes `nodes` out of service.
  void draw(const std::string& subject, const std::vector<std::string>& nodes) {
    say(subject, kIntent, Json::object({{"key", subject + ".x"}, {"verb", "drain"}, {"draws", nodes}}));
  }
};

inline std::string node_name(int no) { return "n" + std::to_string(no); }

// A cluster whose engines ask before they take a node out, as all of them do.
struct Breakers : Scene {
  BreakerPolicy policy;

  const Breaker& breaker() const { return cluster.breaker; }
  Breaker::Leave ask(const std::string& node, std::string by = {}) const {
    return breaker().ask(policy, cluster.view, cluster.claims, node, by.empty() ? node_subject(node) : by,
                         now);
  }
  // Asks, and does what the answer says.
  bool take_out(const std::string& node) {
    const Breaker::Leave leave = ask(node);
    for (const Event& record : leave.records) take(record);
    if (!leave.granted) return false;
    claim(node_subject(node), "drain", node_subject(node));
    draw(node_subject(node), {node});
    return true;
  }
  void bring_back(const std::string& node) {
    take(Claims::released(node_subject(node), "drain", "it is well"));
  }
  std::size_t counted(const std::string& partition = "batch") const {
    const auto it = breaker().partitions().find(partition);
    return it == breaker().partitions().end() ? 0 : it->second.left.size();
  }
};

}  // namespace sickbay::cluster
