// SPDX-License-Identifier: Apache-2.0
// A world for the tests of the nonstop engine, driven by events alone: commands wait until a test answers
// them.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/hostlist.h"
#include "engine/nonstop/answer.h"
#include "engine/nonstop/nonstop.h"
#include "model/ids.h"
#include "model/verbs.h"

namespace sickbay::nonstop {

using namespace std::chrono_literals;

struct World {
  cluster::Cluster cluster;
  State state;
  Policy policy;
  TimePoint now = from_unix_seconds(1'800'000'000);
  std::vector<Event> log;
  std::set<std::string> touched, intended;
  std::vector<Command> open;  // without an answer
  int tokens = 0;

  World() {
    policy.on = true;
    policy.config.time_limit_extend = 2;
    policy.config.time_limit_delay = 10;
    policy.config.time_limit_drop = 30;
    nodes("n[1-9]", "IDLE");
    job(17, {"n1", "n2", "n3"});
  }

  void take(Event event) {
    event.at = now;
    event.seq = static_cast<std::int64_t>(log.size()) + 1;
    cluster::apply(cluster, event);
    for (std::string& subject : apply(state, cluster.view, event)) touched.insert(std::move(subject));
    log.push_back(std::move(event));
  }
  void settle() {
    for (int turns = 0; !touched.empty(); ++turns) {
      ASSERT_LT(turns, 200) << "it goes in a circle";
      const std::string subject = *touched.begin();
      touched.erase(touched.begin());
      Decision d = decide(cluster, state, policy, subject, now);
      bool claimed = false;
      for (const cluster::Claim& wish : d.claims)
        if (cluster.claims.find(wish.on, now) == nullptr) {
          take(cluster::Claims::claimed(wish));
          claimed = true;
        }
      if (claimed) d = decide(cluster, state, policy, subject, now);
      for (Event& record : d.records) take(std::move(record));
      for (Command& command : d.commands)
        if (intended.insert(command.key).second) {
          take(new_event(
              command.subject, kIntent,
              Json::object({{"key", command.key}, {"verb", command.verb}, {"args", command.args}})));
          open.push_back(std::move(command));
        }
    }
  }
  void say(Event event) {
    take(std::move(event));
    settle();
  }
  void nodes(const std::string& names, const std::string& shown) {
    say(new_event(
        "cluster", kNodesSeen,
        Json::object({{"groups", Json::array({Json::object({{"nodes", names},
                                                            {"state", shown},
                                                            {"usable", shown == "IDLE"},
                                                            {"down", shown.starts_with("DOWN")},
                                                            {"idle", shown.starts_with("IDLE")},
                                                            {"partitions", Json::array({"batch"})}})})}})));
  }
  void job(JobId id, const std::vector<std::string>& names, int limit = 60, TimePoint looked = kNoTime,
           const std::string& batch_host = "", JobId het = 0, std::int64_t submit = 1'700'000'000) {
    JobInfo info;
    info.job_id = id;
    info.uid = 1001;
    info.state = "RUNNING";
    info.partition = "batch";
    info.submit = from_unix_seconds(submit);
    info.nodes = compress_hostlist(names);
    info.time_limit_s = limit * 60;
    const std::string subject = running_subject(id);
    say(new_event(subject, kJobSeen,
                  Json::object({{"run", subject},
                                {"job", info.to_json()},
                                {"cpus_per_node", set(names)["cpus_per_node"]},
                                {"batch_host", batch_host},
                                {"het_job_id", het},
                                {"looked", to_micros(looked == kNoTime ? now : looked)}})));
  }
  void over(JobId id) {
    const std::string subject = running_subject(id);
    say(new_event(subject, kJobLost, Json::object({{"run", subject}, {"job_id", id}})));
  }
  static Json set(const std::vector<std::string>& names) {
    return Json::object(
        {{"nodes", names},
         {"cpus_per_node", cpu_groups_to_json({{8, static_cast<std::uint32_t>(names.size())}})}});
  }
  static Json donor(const std::vector<std::string>& names) {
    return Json::object(
        {{"donor", 900}, {"submit", 5}, {"state", names.empty() ? "PENDING" : "RUNNING"}, {"nodes", names}});
  }
  std::string doing() const {
    std::string text;
    for (const Command& command : open) text += (text.empty() ? "" : " ") + command.verb;
    return text;
  }
  Command next() {
    EXPECT_FALSE(open.empty());
    if (open.empty()) return {};
    Command command = open.front();
    open.erase(open.begin());
    return command;
  }
  void done(Json result) {
    const Command c = next();
    say(new_event(c.subject, kDone,
                  Json::object({{"key", c.key}, {"verb", c.verb}, {"result", std::move(result)}})));
  }
  void failed(std::string_view code, const std::string& what = "it went wrong") {
    const Command c = next();
    say(new_event(
        c.subject, kFailed,
        Json::object(
            {{"key", c.key}, {"verb", c.verb}, {"error", Json::object({{"code", code}, {"what", what}})}})));
  }
  void pass(Micros time) {
    now += time;
    for (std::string& subject : restless(state, policy)) touched.insert(std::move(subject));
    settle();
  }

  // A client: one that asks, and one that asks once more under its token.
  struct Asked {
    wire::Request request;
    std::string token;
    Caller caller;
  };
  Answer again(const Asked& a) { return answer(cluster, state, policy, a.caller, a.request, a.token, now); }
  Asked ask(wire::Command command, std::vector<std::string> names = {}, std::uint32_t minutes = 0,
            std::uint32_t uid = 1001) {
    Asked a;
    a.request.command = command;
    a.request.job = 17;
    a.request.names = std::move(names);
    a.request.minutes = minutes;
    a.request.reason = "smells";
    a.token = "t" + std::to_string(++tokens);
    a.caller = {uid, "alice", uid == 0, "10.0.0.9"};
    for (Event& event : again(a).events) take(std::move(event));
    settle();
    return a;
  }
  // "ENOERROR" (maybe only behind another look at nodes), or "wait", or "look" for a job that nobody knows.
  std::string code(const Asked& a) {
    const Answer told = again(a);
    if (told.what == Answer::What::wait) return "wait";
    if (told.what == Answer::What::look && state.job(a.request.job) == nullptr) return "look";
    return std::string(wire::code_row(told.reply.code).name);
  }
  Asked replace(std::vector<std::string> names) { return ask(wire::Command::replace_node, std::move(names)); }
  Asked drop(std::vector<std::string> names) { return ask(wire::Command::drop_node, std::move(names)); }
  Asked extend(std::uint32_t minutes) { return ask(wire::Command::time_incr, {}, minutes); }
  const Job& of_job(JobId id = 17) const { return state.jobs.at(id); }
  std::string has(JobId id = 17) const {
    std::vector<std::string> names;
    for (const Share& share : of_job(id).nodes) names.push_back(share.node);
    return compress_hostlist(names);
  }
  bool is_claimed() const { return cluster.claims.find("job:17", now) != nullptr; }
  void expect_replay() const {
    cluster::Cluster again_cluster;
    State again_state;
    for (const Event& event : log) {
      const Event read = *Event::from_json(*Json::parse(event.text()));
      cluster::apply(again_cluster, read);
      (void)apply(again_state, again_cluster.view, read);
    }
    EXPECT_EQ(canonical_text(again_state), canonical_text(state));
  }
};

}  // namespace sickbay::nonstop
