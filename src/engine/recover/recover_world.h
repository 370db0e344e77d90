// SPDX-License-Identifier: Apache-2.0
// A cluster for the tests of recoveries, driven by events alone: n[1-20] of one partition, each with munged,
// slurmd that needs it, and opensm.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/recover/recover.h"
#include "model/event_kinds.h"
#include "model/verbs.h"

namespace sickbay::recover {

using namespace std::chrono_literals;

struct World {
  cluster::Cluster cluster;
  State state;
  Policy policy;
  TimePoint now = from_unix_seconds(1'800'000'000);
  TimePoint boot = from_unix_seconds(1'700'000'000);
  std::vector<Event> journal;
  std::vector<Command> commands;
  TimePoint wake_at = kNever;
  std::vector<std::string> touched;

  World() {
    policy.act = policy.reboot = policy.requeue = true;
    nodes("n[1-20]", "IDLE");
    for (int i = 1; i <= 20; ++i) components("n" + std::to_string(i));
  }

  // Facts are taken in one after the other; then the engine is asked until nothing is new.
  void take(Event event) {
    event.seq = static_cast<std::int64_t>(journal.size()) + 1;
    event.at = now;
    journal.push_back(event);
    cluster::apply(cluster, event);
    for (std::string& subject : apply(state, cluster.view, event)) touched.push_back(std::move(subject));
  }
  void say(std::string subject, std::string_view kind, Json body = Json::object()) {
    take(new_event(std::move(subject), kind, std::move(body)));
    settle();
  }
  void settle() {
    for (int turn = 0; turn < 64 && !touched.empty(); ++turn) {
      const std::string subject = touched.front();
      Decision decision = decide(cluster, state, policy, subject, now);
      bool news = false;
      for (const cluster::Claim& claim : decision.claims)
        if (cluster.claims.find(claim.on, now) == nullptr) {
          take(cluster::Claims::claimed(claim));
          news = true;
        }
      if (news) continue;  // as the controller: asked again, with the claims
      touched.erase(touched.begin());
      std::erase(touched, subject);
      for (Event& record : decision.records) take(std::move(record));
      for (Command& command : decision.commands) {
        if (find(command.key) != nullptr) continue;
        take(new_event(command.subject, kIntent,
                       Json::object({{"key", command.key}, {"verb", command.verb}, {"args", command.args}})));
        commands.push_back(std::move(command));
      }
      wake_at = std::min(wake_at, decision.wake_at);
    }
    EXPECT_TRUE(touched.empty()) << "it does not settle";
  }
  void pass(std::chrono::seconds time) {
    now += time;
    wake_at = kNever;
    for (const std::int64_t no : state.open) touched.push_back(recovery_name(no));
    settle();
  }

  // --- what is there

  void nodes(const std::string& names, const std::string& shown) {
    say("cluster", kNodesSeen,
        Json::object(
            {{"groups", Json::array({Json::object({{"nodes", names},
                                                   {"state", shown},
                                                   {"usable", shown == "IDLE" || shown == "ALLOCATED"},
                                                   {"down", shown.starts_with("DOWN")},
                                                   {"partitions", Json::array({"batch"})},
                                                   {"boot", to_micros(boot)},
                                                   {"idle", shown.starts_with("IDLE")}})})}}));
  }
  void gone(const std::string& names) {
    say("cluster", kNodesSeen,
        Json::object({{"groups", Json::array({Json::object({{"nodes", names}, {"gone", true}})})}}));
  }
  void components(const std::string& node) {
    const auto one = [](const char* name, Json needs, int seconds) {
      return Json::object({{"name", name}, {"needs", std::move(needs)}, {"takes_us", seconds * 1'000'000}});
    };
    say(node_subject(node), kComponentsSeen,
        Json::object({{"components", Json::array({one("munged", Json::array(), 5),
                                                  one("slurmd", Json::array({"munged"}), 10),
                                                  one("opensm", Json::array(), 20)})}}));
  }

  void depend(std::vector<std::vector<std::string>> sets) {
    policy.dependent = std::move(sets);
    touched.emplace_back(kRecoveries);
    settle();
  }

  // --- what is said

  void opened(std::int64_t no, const Fault& fault) {
    say(recovery_name(no), kRecoveryOpened, fault.to_json());
  }
  static Fault by_alice(FaultClass of, std::string node, std::string component = "") {
    Fault fault;
    fault.of = of;
    fault.node = std::move(node);
    fault.component = std::move(component);
    fault.source = "by alice";
    fault.text = "it hangs";
    return fault;
  }
  static Fault of_job(bool alone, std::vector<std::vector<std::string>> domains = {}) {
    Fault fault = by_alice(FaultClass::job, "n3");
    fault.job.job_id = 17;
    fault.job.uid = 1001;
    fault.job.restart_cnt = 2;
    fault.job.nodes = {"n2", "n3", "n4", "n5"};
    fault.job.domains = std::move(domains);
    fault.job.alone = alone;
    return fault;
  }
  void finding(int no, const std::string& node, const std::string& component,
               const std::string& result = "fault", Json more = Json::object()) {
    Json body = Json::object({{"node", node},
                              {"specification", "node"},
                              {"rule", component},
                              {"result", result},
                              {"action", "restart"},
                              {"component", component},
                              {"text", component + " hangs"}});
    for (const auto& [name, value] : more.members()) body.set(name, value);
    say(finding_name(no), kFinding, body);
  }

  // --- what comes of commands

  const Command* find(const std::string& key) const {
    const auto it = std::ranges::find(commands, key, &Command::key);
    return it == commands.end() ? nullptr : &*it;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> list;
    for (const Command& command : commands) list.push_back(command.key + " " + command.verb);
    return list;
  }
  void done(const std::string& key, Json result) {
    const Command* command = find(key);
    ASSERT_NE(command, nullptr) << key;
    say(command->subject, kDone,
        Json::object({{"key", key}, {"verb", command->verb}, {"result", std::move(result)}}));
  }
  void failed(const std::string& key, const std::string& code, const std::string& what) {
    const Command* command = find(key);
    ASSERT_NE(command, nullptr) << key;
    say(command->subject, kFailed,
        Json::object({{"key", key},
                      {"verb", command->verb},
                      {"error", Json::object({{"code", code}, {"what", what}})}}));
  }
  void restarted(const std::string& key, bool cured, int took_s = 4) {
    done(key, Json::object(
                  {{"restarted", true}, {"cured", cured}, {"took_us", took_s * 1'000'000}, {"said", ""}}));
  }
  void checked(const std::string& key, bool well) {
    done(key, Json::object({{"well", well}, {"said", well ? "" : "it hangs still"}}));
  }
  /// The drain engine takes a node, and Slurm boots it.
  void drain_claims(const std::string& node) {
    say(node_subject(node), kClaimed,
        Json::object(
            {{"holder", "drain"}, {"by", node_subject(node)}, {"reason", "sickbay:"}, {"out", true}}));
  }
  void reboots(const std::string& node) {
    reboot_begins(node);
    now += 120s;
    boot = now - 10s;
    nodes(node, "IDLE+DRAIN");
  }
  void reboot_begins(const std::string& node) {
    drain_claims(node);
    nodes(node, "IDLE+DRAIN");
    say(node_subject(node), kIntent,
        Json::object({{"key", node + ":b1"},
                      {"verb", "reboot"},
                      {"args", Json::object({{"node", node}, {"boot", to_micros(boot)}})}}));
  }

  // --- what was seen

  const Recovery& recovery(std::int64_t no) const { return state.recoveries.at(no); }
  std::string end(std::int64_t no) const {
    const Recovery& r = recovery(no);
    return r.open() ? "open" : std::string(to_string(r.outcome)) + ": " + r.why;
  }
  std::vector<std::string> kinds_of(const std::string& subject) const {
    std::vector<std::string> kinds;
    for (const Event& event : journal)
      if (event.subject == subject) kinds.push_back(event.kind);
    return kinds;
  }
  std::vector<std::string> of_kind(std::string_view kind) const {
    std::vector<std::string> bodies;
    for (const Event& event : journal)
      if (event.kind == kind) bodies.push_back(event.body.dump());
    return bodies;
  }
  const cluster::Claim* claim(const std::string& on) const { return cluster.claims.find(on, now); }

  /// What a start would make of the journal.
  std::string replayed() const {
    cluster::Cluster again;
    State from;
    for (const Event& event : journal) {
      cluster::apply(again, event);
      apply(from, again.view, event);
    }
    return canonical_text(from);
  }
};

}  // namespace sickbay::recover
