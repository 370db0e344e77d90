// SPDX-License-Identifier: Apache-2.0
// What the tests of the agents' endpoints share: sickbayd from the API down, on a cluster n1..n6 whose node
// nK has the address 10.0.0.K.
//
// The journal and the cluster outlive stop() and start(), as they would a real one.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "adapters/sim/process_loop.h"
#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_journal.h"
#include "adapters/sim/sim_loop.h"
#include "adapters/sim/sim_processes.h"
#include "service/agents.h"
#include "service/api.h"
#include "service/case_store_test_parts.h"
#include "service/effects.h"

namespace sickbay {

struct AgentAnswer : HttpReply {
  HttpResponse response;
  bool answered = false, open = true;
  void respond(HttpResponse r) override { response = std::move(r), answered = true; }
  void begin_stream(std::string) override {}
  bool write(std::string) override { return false; }
  void end() override {}
  void on_close(std::function<void()>) override {}
  bool is_open() const override { return open; }
  Json json() const { return Json::parse(response.body).value_or(Json()); }
};

// Counts how often the events are read.
struct CountedJournal : Journal {
  explicit CountedJournal(Journal& j) : journal(j) {}
  Status append(std::vector<Event>& events) override { return journal.append(events); }
  Status read(std::int64_t after, const std::function<bool(const Event&)>& each) override {
    ++reads;
    return journal.read(after, each);
  }
  Status read_subject(const std::string& subject, std::int64_t after,
                      const std::function<bool(const Event&)>& each) override {
    ++reads;
    return journal.read_subject(subject, after, each);
  }
  std::int64_t last_seq() const override { return journal.last_seq(); }
  TimePoint last_stamp() const override { return journal.last_stamp(); }
  std::int64_t size_bytes() const override { return journal.size_bytes(); }
  Journal& journal;
  int reads = 0;
};

// What one sickbayd holds, and loses when it is killed.
struct AgentsDaemon {
  AgentsDaemon(sim::SimLoop& whole, sim::SimCluster& cluster, Journal& journal)
      : loop(whole),
        processes(whole, cluster),
        effects(loop, cluster, processes, store, config, {"#!/bin/sh\n", {}, 0, 0}),
        seats(config),
        controller(loop, journal, cluster, effects, seats, config) {
    agents = std::make_unique<Agents>(loop, controller, [this](const std::string& name, auto done) {
      ++lookups;
      loop.post([name, done] {
        if (name == "n6") return done(fail(ErrorCode::not_found, "no address for n6"));
        done(std::vector<std::string>{"10.0.0." + name.substr(1), "fd00::" + name.substr(1)});
      });
    });
    api = std::make_unique<Api>(controller, store, cluster, Api::Identity{"test", 1, loop.now()},
                                [](const Caller& c) { return c.user == "ops"; });
    api->serve_agents(*agents);
    (void)controller.replay();
    controller.start();
  }
  sim::ProcessLoop loop;
  NoStore store;
  Config config;
  sim::SimProcesses processes;
  Effects effects;
  Seats seats;
  Controller controller;
  std::unique_ptr<Agents> agents;
  std::unique_ptr<Api> api;
  int lookups = 0;
};

class AgentsTest : public testing::Test {
 protected:
  AgentsTest() : cluster_(loop_, {}) { start(); }
  void stop() {
    cluster_.drop_answers();
    daemon_.reset();
  }
  void start() {
    if (daemon_) stop();
    daemon_ = std::make_unique<AgentsDaemon>(loop_, cluster_, counted_);
  }
  void pass(std::chrono::milliseconds time) { loop_.run_until(loop_.now() + time); }

  // Asks, and passes no time: the answer may come later.
  std::shared_ptr<AgentAnswer> send(Caller caller, const std::string& method, const std::string& target,
                                    const Json& body = {}, const std::string& key = "") {
    HttpRequest request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    for (std::size_t at = target.find('?'); at != std::string::npos;) {
      const std::size_t equals = target.find('=', at), end = target.find('&', equals);
      request.query.emplace_back(
          target.substr(at + 1, equals - at - 1),
          target.substr(equals + 1, end == std::string::npos ? end : end - equals - 1));
      at = end;
    }
    if (method == "POST") request.body = body.dump();
    request.idempotency_key = key;
    request.caller = std::move(caller);
    auto answer = std::make_shared<AgentAnswer>();
    daemon_->api->serve(std::move(request), answer);
    return answer;
  }
  std::shared_ptr<AgentAnswer> ask(Caller caller, const std::string& method, const std::string& target,
                                   const Json& body = {}, const std::string& key = "") {
    auto answer = send(std::move(caller), method, target, body, key);
    pass(std::chrono::milliseconds(100));
    return answer;
  }
  static Caller agent_at(const std::string& address, std::uint32_t uid = 0) {
    return Caller{uid, uid, 0, uid == 0 ? "root" : "alice", address};
  }
  static Caller person(const std::string& user) {
    return Caller{user == "root" ? 0u : 60001u, 0, 1, user, ""};
  }

  Json finding(std::int64_t n, const std::string& boot = "b1") {
    return Json::object({{"boot_id", boot},
                         {"n", n},
                         {"at", to_micros(loop_.now())},
                         {"run", 4},
                         {"specification", "node"},
                         {"rule", "p" + std::to_string(n)},
                         {"result", "fault"},
                         {"action", "drain"},
                         {"to", ""},
                         {"components", Json::array({"memory"})},
                         {"text", "a bank is lost"},
                         {"values", Json::object({{"memory_total", 4294967296}})}});
  }
  std::shared_ptr<AgentAnswer> deliver(Json items, const std::string& node = "n3") {
    return ask(agent_at("10.0.0." + node.substr(1)), "POST", "/v1/agent/findings",
               Json::object({{"node", node},
                             {"boot_id", "b1"},
                             {"now", to_micros(loop_.now())},
                             {"items", std::move(items)}}));
  }
  std::vector<Event> findings() const {
    std::vector<Event> found;
    for (const Event& event : journal_.events())
      if (event.kind == "finding") found.push_back(event);
    return found;
  }
  std::int64_t order(const std::string& node, const std::string& key = "") {
    return ask(person("root"), "POST", "/v1/nodes/" + node + "/diagnose", Json::object({{"mode", "deep"}}),
               key)
        ->json()["task"]
        .as_int();
  }
  static Json results(const std::string& node, std::int64_t task, Json findings) {
    return Json::object({{"node", node},
                         {"task", task},
                         {"whole", true},
                         {"runs", Json::array({Json::object({{"specification", "node"},
                                                             {"findings", std::move(findings)},
                                                             {"values", Json::object({{"x", 1}})}})})}});
  }

  sim::SimLoop loop_;
  sim::SimCluster cluster_;
  sim::SimJournal journal_;
  CountedJournal counted_{journal_};
  std::unique_ptr<AgentsDaemon> daemon_;
};

}  // namespace sickbay
