// SPDX-License-Identifier: Apache-2.0
// Agents and the endpoints they call, over a controller on the simulated cluster: who is an agent, what comes
// of findings and tasks, and what a restart or a full disk does to them.
#include "service/agents.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <sstream>

#include "adapters/sim/process_loop.h"
#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_journal.h"
#include "adapters/sim/sim_loop.h"
#include "adapters/sim/sim_processes.h"
#include "service/agent_words.h"
#include "service/api.h"
#include "service/case_store_test_parts.h"
#include "service/effects.h"

namespace sickbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

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

// sickbayd from the API down, on a cluster n1..n6 whose node nK has the address 10.0.0.K.
struct Daemon {
  Daemon(sim::SimLoop& whole, sim::SimCluster& cluster, Journal& journal)
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
    daemon_ = std::make_unique<Daemon>(loop_, cluster_, counted_);
  }
  void pass(milliseconds time) { loop_.run_until(loop_.now() + time); }

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
    pass(milliseconds(100));
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
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(AgentsTest, AnAgentIsRootOnTheNodeItClaims) {
  const Json body = Json::object(
      {{"node", "n3"}, {"boot_id", "b1"}, {"version", "1"}, {"digests", Json::object()}, {"mode", "quick"}});
  struct Row {
    Caller caller;
    const char* node;
    int status;
    const char* says;
  };
  for (const Row& row :
       {Row{agent_at("10.0.0.3"), "n3", 200, "\"node\":\"n3\""}, Row{agent_at("fd00::3"), "n3", 200, ""},
        Row{agent_at("10.0.0.4"), "n3", 403, "10.0.0.4 is not the address of n3"},
        Row{agent_at("10.0.0.3", 60001), "n3", 403, "alice is not root"},
        Row{person("root"), "n3", 403, "over TCP"}, Row{agent_at("10.0.0.6"), "n6", 403, "no address for n6"},
        Row{agent_at("10.0.0.9"), "n9", 404, "Slurm has no node"},
        Row{agent_at("10.0.0.3"), "", 400, "name its node"}}) {
    Json said = body;
    said.set("node", row.node);
    const auto answer = ask(row.caller, "POST", "/v1/agent/hello", said);
    pass(seconds(1));
    EXPECT_EQ(answer->response.status, row.status) << row.caller.address << row.node << answer->response.body;
    EXPECT_THAT(answer->response.body, HasSubstr(row.says));
  }
  // Every endpoint of agents asks for the role.
  for (const char* target : {"/v1/agent/hello", "/v1/agent/findings", "/v1/agent/results"})
    EXPECT_EQ(ask(agent_at("10.0.0.4"), "POST", target, body)->response.status, 403) << target;
  EXPECT_EQ(ask(agent_at("10.0.0.4"), "GET", "/v1/agent/tasks?node=n3&after=0")->response.status, 403);
}

TEST_F(AgentsTest, SlurmIsAwayIsNotADenial) {
  daemon_.reset();
  cluster_.stop_controller(true);
  start();
  const auto answer = ask(agent_at("10.0.0.3"), "POST", "/v1/agent/findings",
                          Json::object({{"node", "n3"}, {"items", Json::array()}}));
  pass(seconds(60));
  EXPECT_EQ(answer->response.status, 503) << answer->response.body;
}

TEST_F(AgentsTest, HelloIsJournaledWhenSomethingIsNew) {
  const auto hello = [&](const std::string& digest, const std::string& boot = "b1") {
    return ask(agent_at("10.0.0.3"), "POST", "/v1/agent/hello",
               Json::object({{"node", "n3"},
                             {"boot_id", boot},
                             {"version", "1.0"},
                             {"digests", Json::object({{"node", digest}})},
                             {"mode", "quick"},
                             {"period", "day"},
                             {"now", to_micros(loop_.now()) + 5'000'000}}));
  };
  const auto seen = [&] {
    return std::ranges::count(journal_.events(), std::string("agent_seen"), &Event::kind);
  };
  ASSERT_EQ(hello("aa")->response.status, 200);
  ASSERT_EQ(hello("aa")->response.status, 200);
  EXPECT_EQ(seen(), 1);
  ASSERT_EQ(hello("bb")->response.status, 200);
  EXPECT_EQ(seen(), 2);
  ASSERT_EQ(hello("bb", "b2")->response.status, 200);
  EXPECT_EQ(seen(), 3) << "it has booted";
  ASSERT_EQ(hello("bb", "b2")->response.status, 200);
  EXPECT_EQ(seen(), 3);
  EXPECT_EQ(daemon_->agents->presence().present, 1u);
  Json view = daemon_->agents->view("n3");
  EXPECT_TRUE(view["present"].as_bool());
  EXPECT_EQ(view["digests"].dump(), R"({"node":"bb"})");
  EXPECT_NEAR(static_cast<double>(view["clock_ahead_us"].as_int()), 5e6, 1e5);
  start();
  view = daemon_->agents->view("n3");
  EXPECT_FALSE(view["present"].as_bool());
  EXPECT_EQ(view["digests"].dump(), R"({"node":"bb"})") << "the journal remembers";
  ASSERT_EQ(hello("bb", "b2")->response.status, 200);
  EXPECT_EQ(seen(), 3);
  const Json items = ask(person("alice"), "GET", "/v1/nodes")->json()["items"];
  EXPECT_TRUE(items.items().at(2)["agent"]["present"].as_bool());
  EXPECT_TRUE(items.items().at(1)["agent"].is_null());
  pass(minutes(3));
  EXPECT_EQ(daemon_->agents->presence().present, 0u);
}

// Published of soperator as #1316 (doc/peers.md): an agent without its old state takes it over from us.
TEST_F(AgentsTest, AnAgentIsToldWhatStandsOfItsNode) {
  const auto standing = [&](const std::string& node = "n3") {
    const Json body =
        Json::object({{"node", node}, {"boot_id", "b1"}, {"version", "1"}, {"digests", Json::object()}});
    const auto answer = ask(agent_at("10.0.0." + node.substr(1)), "POST", "/v1/agent/hello", body);
    return answer->json()["standing"].dump();
  };
  const auto said = [&](std::int64_t n, const char* rule, const char* result, const char* mode) {
    Json item = finding(n).set("rule", rule).set("result", result).set("mode", mode);
    if (item["result"].as_string() != "fault") item.set("action", "none");
    return item;
  };
  EXPECT_EQ(standing(), "null");
  deliver(Json::array({said(1, "fan", "fault", "quick"), said(2, "memory", "fault", "deep"),
                       said(3, "old", "fault", ""), said(4, "odd", "fault", "some mode"),
                       said(5, "disk", "unknown", "quick")}));
  const std::string both = R"([{"rule":"node/fan","mode":"quick"},{"rule":"node/memory","mode":"deep"}])";
  EXPECT_EQ(standing(), both) << "what a run of a mode can end";
  EXPECT_EQ(standing("n2"), "null");
  start();
  pass(seconds(1));
  EXPECT_EQ(standing(), both) << "the journal remembers";
  deliver(Json::array({said(6, "fan", "ok", "quick"), said(7, "memory", "ok", "deep")}));
  EXPECT_EQ(standing(), "null");
}

TEST_F(AgentsTest, FactsAreJournaledWhenTheyChangeAndComparedAmongLikes) {
  const auto hello = [&](const std::string& no, Json facts, std::int64_t ahead_us = 0) {
    return ask(agent_at("10.0.0." + no), "POST", "/v1/agent/hello",
               Json::object({{"node", "n" + no},
                             {"boot_id", "b1"},
                             {"version", "1"},
                             {"digests", Json::object()},
                             {"now", to_micros(loop_.now()) + ahead_us},
                             {"facts", std::move(facts)}}))
        ->response.status;
  };
  const auto count = [&](const char* kind) {
    return std::ranges::count(journal_.events(), std::string(kind), &Event::kind);
  };
  const Json good = Json::object({{"cpu", "Chip"}, {"mount:/home", "nfs4"}});
  for (const char* no : {"1", "2", "3", "4"}) ASSERT_EQ(hello(no, good), 200);
  EXPECT_EQ(count("facts_seen"), 4);
  ASSERT_EQ(hello("3", good, 100'000), 200);
  EXPECT_EQ(count("facts_seen"), 4) << "a tenth of a second is the way here, not the clock";
  ASSERT_EQ(hello("3", Json::object({{"cpu", "Chip"}})), 200);
  EXPECT_EQ(count("facts_seen"), 5);
  pass(minutes(6));
  EXPECT_EQ(count("fleet_odd"), 1);
  const Json items = ask(person("alice"), "GET", "/v1/nodes")->json()["items"];
  EXPECT_EQ(items.items().at(2)["odd"].items().at(0)["text"].as_string(),
            "n3 lacks /home (nfs4), which 3 others mount");
  EXPECT_EQ(items.items().at(1)["odd"].size(), 0U);
  // What is no object of texts is not taken; the greeting is.
  ASSERT_EQ(hello("3", Json::object({{"cpu", 7}})), 200);
  ASSERT_EQ(hello("3", Json("many")), 200);
  EXPECT_EQ(count("facts_seen"), 5);
  start();
  pass(minutes(1));
  EXPECT_EQ(count("fleet_odd"), 1) << "told once, also through a restart";
  ASSERT_EQ(hello("3", good), 200);
  pass(minutes(6));
  EXPECT_EQ(count("fleet_odd"), 2) << "and its end";
}

TEST_F(AgentsTest, MetricsSayWhoIsSilent) {
  const auto hello = [&](const std::string& no) {
    ask(agent_at("10.0.0." + no), "POST", "/v1/agent/hello",
        Json::object({{"node", "n" + no},
                      {"boot_id", "b1"},
                      {"version", "1"},
                      {"digests", Json::object()},
                      {"mode", "quick"}}));
  };
  // The lines of agents without HELP and TYPE.
  const auto agents = [&] {
    std::string found;
    std::istringstream lines(ask(person("alice"), "GET", "/metrics")->response.body);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("sickbay_agents")) found += line.substr(8, line.find('.') - 8) + "\n";
    return found;
  };
  EXPECT_EQ(agents(), "agents{state=\"present\"} 0\nagents{state=\"silent\"} 0\n");
  hello("3");
  hello("4");
  EXPECT_THAT(agents(), HasSubstr("{state=\"present\"} 2\n"));
  pass(minutes(3));
  hello("4");
  EXPECT_EQ(agents(),
            "agents{state=\"present\"} 1\nagents{state=\"silent\"} 1\n"
            "agents_last_heard_seconds 0\nagents_longest_silence_seconds 180\n");
  // After a restart silence begins anew: nobody is to blame for what was not heard meanwhile.
  stop();
  pass(minutes(10));
  start();
  pass(seconds(20));
  EXPECT_EQ(agents(),
            "agents{state=\"present\"} 0\nagents{state=\"silent\"} 2\n"
            "agents_last_heard_seconds 20\nagents_longest_silence_seconds 20\n");
  // Who leaves the cluster is not missed.
  Event gone;
  gone.subject = "cluster";
  gone.kind = "nodes_seen";
  gone.body = Json::object({{"groups", Json::array({Json::object({{"nodes", "n3"}, {"gone", true}})})}});
  daemon_->controller.take({gone});
  pass(seconds(1));
  EXPECT_THAT(agents(), HasSubstr("{state=\"silent\"} 1\n"));
}

TEST_F(AgentsTest, AFindingIsJournaledOnceAlsoAfterARestart) {
  const auto first = deliver(Json::array({finding(1), finding(2)}));
  EXPECT_EQ(first->json()["kept"].as_int(), 2);
  ASSERT_EQ(findings().size(), 2u);
  EXPECT_EQ(findings()[0].subject, "f1");
  EXPECT_EQ(findings()[1].subject, "f2");
  EXPECT_EQ(findings()[1].body.dump().substr(0, 32), R"({"node":"n3","boot_id":"b1","n":)");
  EXPECT_FALSE(findings()[0].body.has("late"));
  // The answer got lost: the same again, and one more.
  const auto again = deliver(Json::array({finding(1), finding(2), finding(3)}));
  EXPECT_EQ(again->json()["kept"].as_int(), 1);
  EXPECT_EQ(again->json()["repeats"].as_int(), 2);
  start();
  const auto after = deliver(Json::array({finding(2), finding(3), finding(4)}));
  EXPECT_EQ(after->json()["kept"].as_int(), 1);
  ASSERT_EQ(findings().size(), 4u);
  EXPECT_EQ(findings()[3].subject, "f4");
  // Another boot and another node count by themselves.
  EXPECT_EQ(deliver(Json::array({finding(1, "b2")}))->json()["kept"].as_int(), 1);
  EXPECT_EQ(deliver(Json::array({finding(1)}), "n4")->json()["kept"].as_int(), 1);
}

TEST_F(AgentsTest, AnOldFindingIsHistory) {
  const Json old = finding(1);
  pass(minutes(9));
  const Json younger = finding(2);
  pass(minutes(2));
  const Json answer = deliver(Json::array({old, younger}))->json();
  EXPECT_EQ(answer["late"].dump(), "[1]") << "its agent looks again";
  EXPECT_EQ(deliver(Json::array({old, younger}))->json()["late"].dump(), "[1]")
      << "the answer may have been lost";
  ASSERT_EQ(findings().size(), 2u);
  EXPECT_TRUE(findings()[0].body["late"].as_bool());
  EXPECT_FALSE(findings()[1].body.has("late"));
}

TEST_F(AgentsTest, WhatStandsIsKnownByNodeAlsoAfterARestart) {
  const auto found = [&](std::int64_t n, const std::string& rule, const std::string& result) {
    Json item = finding(n);
    item.set("rule", rule).set("result", result).set("action", result == "fault" ? "notify" : "none");
    return item;
  };
  const auto stands = [&](const std::string& node) {
    std::string text;
    const Json findings = daemon_->agents->findings(node);
    for (const Json& one : findings.items())
      text +=
          one["finding"].as_string() + " " + one["rule"].as_string() + " " + one["result"].as_string() + ", ";
    return text;
  };
  const std::string s = finding(1)["specification"].as_string();
  deliver(Json::array({found(1, "full", "fault"), found(2, "hangs", "unknown")}));
  const std::string both = "f1 " + s + "/full fault, f2 " + s + "/hangs unknown, ";
  EXPECT_EQ(stands("n3"), both);
  const std::int64_t since = daemon_->agents->findings("n3").items()[0]["since"].as_int();
  pass(minutes(60));
  deliver(Json::array({found(3, "full", "fault"), found(4, "hangs", "unknown")}));
  EXPECT_EQ(stands("n3"), both) << "told again, they are the same";
  EXPECT_EQ(daemon_->agents->findings("n3").items()[0]["since"].as_int(), since);
  start();
  EXPECT_EQ(stands("n3"), both);
  const auto listed = ask(person("root"), "GET", "/v1/nodes")->json();
  for (const Json& node : listed["items"].items())
    EXPECT_EQ(node["findings"].size(), node["name"].as_string() == "n3" ? 2u : 0u);
  pass(minutes(75));
  EXPECT_EQ(stands("n3"), "f1 " + s + "/full fault, ") << "what is unknown is told again while it is";
  deliver(Json::array({found(5, "full", "ok")}));
  EXPECT_EQ(stands("n3"), "");
}

TEST_F(AgentsTest, WhatStandsIsNewsToTheJournalOnceADay) {
  std::int64_t n = 0;
  const auto hours = [&](int count) {
    for (int hour = 0; hour < count; ++hour) {
      Json notice = finding(++n), drains = finding(++n), unknown = finding(++n);
      notice.set("rule", "full").set("action", "notify").set("text", std::to_string(n) + " %");
      drains.set("rule", "disk");
      unknown.set("rule", "hangs").set("result", "unknown").set("action", "none");
      EXPECT_EQ(deliver(Json::array({notice, drains, unknown}))->response.status, 200);
      EXPECT_EQ(daemon_->agents->findings("n3").size(), 3U) << "hour " << hour;
      pass(minutes(60));
    }
  };
  hours(24 * 10);
  EXPECT_EQ(findings().size(), 3U * 10);
  const Json last = daemon_->agents->findings("n3");
  EXPECT_EQ(last.items()[1]["text"].as_string(), std::to_string(n) + " %") << "people see what is";
  EXPECT_GT(last.items()[2]["told"].as_int(), to_micros(loop_.now() - minutes(61)));
  // A sickbayd that has just begun does not know what was heard since.
  hours(12);
  start();
  pass(seconds(1));
  EXPECT_EQ(daemon_->agents->findings("n3").size(), 3U);
  pass(minutes(71));
  EXPECT_EQ(daemon_->agents->findings("n3").size(), 2U) << "what is unknown is told again while it is";
  // Another boot, and an end, are news at once; and so is what stands where a person had put the node back.
  const std::size_t before = findings().size();
  Json other = finding(1, "b2"), end = finding(2, "b2");
  other.set("rule", "disk");
  end.set("rule", "disk").set("result", "ok").set("action", "none");
  deliver(Json::array({other}));
  deliver(Json::array({end}));
  EXPECT_EQ(findings().size(), before + 2);
  deliver(Json::array({finding(3, "b2").set("rule", "disk")}));
  EXPECT_EQ(findings().size(), before + 3);
  ask(person("root"), "POST", "/v1/undo-drains", Json::object({{"nodes", "n3"}}));
  deliver(Json::array({finding(4, "b2").set("rule", "disk")}));
  EXPECT_EQ(findings().size(), before + 4) << "its drain was undone: it only observes";
}

// Whoever is told of a fault learns whose jobs are there; everybody else does not.
TEST_F(AgentsTest, AFaultNamesJobsAndUsersToOperators) {
  daemon_->agents->name_users_by([](std::uint32_t uid) { return uid == 60001 ? "alice" : ""; });
  Json item = finding(1);
  item.set(
      "jobs",
      Json::parse(R"([{"job":17,"uid":60001},{"job":18,"uid":7},{"job":19},{"job":"x"},{"uid":5}])").value());
  deliver(Json::array({item}));
  ASSERT_EQ(findings().size(), 1u);
  EXPECT_EQ(findings()[0].body["jobs"].dump(),
            R"([{"job":17,"uid":60001,"user":"alice"},{"job":18,"uid":7},{"job":19}])");
}

// The paper's accounting of faults: repairs are events, and are added up by node, rule and month.
TEST_F(AgentsTest, RepairsAreEventsAndAreCounted) {
  const auto repair = [&](std::int64_t n, const std::string& result) {
    Json item = finding(n);
    item.set("rule", "p_clean").set("result", "unknown").set("action", "none");
    return item.set(
        "repair",
        Json::object({{"operation", "clean"}, {"result", result}, {"text", "12 files"}, {"took_us", 5}}));
  };
  const auto counted = [&] {
    std::string text;
    const Json listed = ask(person("alice"), "GET", "/v1/faults")->json();
    for (const Json& row : listed["items"].items())
      text += fmt::format("{} {} {} {} {} {}, ", row["node"].as_string(),
                          row["rule"].as_string().substr(row["rule"].as_string().find('/')),
                          row["faults"].as_int(), row["repairs"]["ok"].as_int(),
                          row["repairs"]["fault"].as_int(), row["stands"].as_bool());
    return text;
  };
  Json fault = finding(1), ended = finding(4);
  fault.set("rule", "full").set("result", "fault");
  ended.set("rule", "full").set("result", "ok");
  EXPECT_EQ(deliver(Json::array({fault, repair(2, "ok"), repair(3, "fault")}))->json()["kept"].as_int(), 3);
  EXPECT_EQ(counted(), "n3 /full 1 0 0 true, n3 /p_clean 0 1 1 false, ");
  EXPECT_EQ(daemon_->agents->findings("n3").size(), 1u) << "a repair stands for nothing";
  pass(minutes(60));
  fault.set("n", 4);
  deliver(Json::array({fault}));
  EXPECT_EQ(counted(), "n3 /full 1 0 0 true, n3 /p_clean 0 1 1 false, ")
      << "told again, it is the same fault";
  EXPECT_EQ(deliver(Json::array({repair(3, "ok")}))->json()["repeats"].as_int(), 1);
  start();
  EXPECT_EQ(counted(), "n3 /full 1 0 0 true, n3 /p_clean 0 1 1 false, ") << "the journal has it";
  EXPECT_EQ(deliver(Json::array({repair(3, "ok")}))->json()["repeats"].as_int(), 1) << "also of repairs";
  ended.set("n", 5);
  deliver(Json::array({ended}));
  fault.set("n", 6);
  deliver(Json::array({fault}));
  EXPECT_EQ(counted(), "n3 /full 2 0 0 true, n3 /p_clean 0 1 1 false, ")
      << "another occurrence is another fault";
  const Json node = ask(person("alice"), "GET", "/v1/faults?node=n3")->json();
  ASSERT_EQ(node["repairs"].size(), 2u);
  EXPECT_EQ(node["repairs"].items()[0]["result"].as_string(), "fault") << "the last one first";
  EXPECT_EQ(ask(person("alice"), "GET", "/v1/faults?node=n1")->json()["items"].size(), 0u);
  EXPECT_EQ(deliver(Json::array({repair(7, "done")}))->json()["refused"].size(), 1u);
}

TEST_F(AgentsTest, AWrongClockOfTheAgentMakesNothingOldOrYoung) {
  Json fresh = finding(1), old = finding(2);
  const std::int64_t theirs = to_micros(loop_.now()) - 3600'000'000;  // an hour behind
  fresh.set("at", theirs - 1'000'000);
  old.set("at", theirs - 700'000'000);
  ask(agent_at("10.0.0.3"), "POST", "/v1/agent/findings",
      Json::object({{"node", "n3"}, {"now", theirs}, {"items", Json::array({fresh, old})}}));
  ASSERT_EQ(findings().size(), 2u);
  EXPECT_FALSE(findings()[0].body.has("late"));
  EXPECT_TRUE(findings()[1].body["late"].as_bool());
  // Who holds its times against others' must know.  (The words were a moment under way.)
  EXPECT_NEAR(findings()[0].body["clock_ahead_us"].as_double(), -3600e6, 1e6);
  deliver(Json::array({finding(3)}));
  EXPECT_FALSE(findings()[2].body.has("clock_ahead_us"));
}

TEST_F(AgentsTest, ABadFindingIsNamedAndTheOthersAreKept) {
  Json no_text = finding(2), wild = finding(3), huge = finding(4), zero = finding(5);
  no_text.set("text", 7);
  wild.set("action", "explode");
  huge.set("values", Json::object({{"long", std::string(kMostFindingBytes, 'x')}}));
  zero.set("n", 0);
  const Json answer = deliver(Json::array({finding(1), no_text, wild, huge, zero, finding(6)}))->json();
  EXPECT_EQ(answer["kept"].as_int(), 2);
  EXPECT_EQ(answer["refused"].size(), 4u);
  EXPECT_THAT(answer["refused"].dump(), HasSubstr("'action' of a finding is 'explode'"));
  EXPECT_EQ(findings().size(), 2u);
  EXPECT_EQ(ask(agent_at("10.0.0.3"), "POST", "/v1/agent/findings",
                Json::object({{"node", "n3"}, {"items", "none"}}))
                ->response.status,
            400);
}

// The root of a node may say what he likes of it: the journal keeps so much of it and no more.
TEST_F(AgentsTest, ANodeThatTellsWithoutEndIsHeldBack) {
  std::int64_t n = 0;
  int taken = 0, held_back = 0;
  for (int post = 0; post < 20; ++post) {
    Json items = Json::array();
    for (std::size_t i = 0; i < Agents::kMostFindings; ++i) {
      Json item = finding(++n);
      items.push(item.set("rule", "p" + std::to_string(i % 50)).set("text", std::string(3000, 'x')));
    }
    const auto answer = deliver(std::move(items));
    (answer->response.status == 200 ? taken : held_back) += 1;
    if (answer->response.status != 200) {
      EXPECT_EQ(answer->json()["code"].as_string(), "busy") << "its agent tries again later";
      EXPECT_FALSE(answer->json()["cause"].as_string().empty());
    }
  }
  std::size_t bytes = 0;
  for (const Event& event : findings()) bytes += event.body.dump().size();
  EXPECT_GE(taken, 1);
  EXPECT_GE(held_back, 15);
  EXPECT_LT(bytes, std::size_t{4} << 20) << "of 30 MB";
  EXPECT_EQ(deliver(Json::array({finding(1)}), "n4")->response.status, 200)
      << "another node is another matter";
  const std::size_t before = findings().size();
  pass(minutes(180));
  EXPECT_EQ(deliver(Json::array({finding(n + 1)}))->response.status, 200);
  EXPECT_EQ(findings().size(), before + 1);
}

TEST_F(AgentsTest, ANodeThatSaysHelloWithoutEndIsHeldBack) {
  for (int i = 0; i < 500; ++i)
    ask(agent_at("10.0.0.3"), "POST", "/v1/agent/hello",
        Json::object({{"node", "n3"},
                      {"boot_id", "b1"},
                      {"version", "1"},
                      {"digests", Json::object({{"node", std::string(4000, 'd') + std::to_string(i)}})}}));
  std::size_t bytes = 0;
  for (const Event& event : journal_.events())
    if (event.subject == "node:n3") bytes += event.body.dump().size();
  EXPECT_GT(bytes, 100'000U);
  EXPECT_LT(bytes, 1'500'000U) << "of 2 MB";
}

TEST_F(AgentsTest, ALongTextIsCutAndToldToBe) {
  Json item = finding(1);
  deliver(Json::array({item.set("text", std::string(20'000, 'x') + "\xc3\xa4")}));
  const std::vector<Event> kept = findings();
  ASSERT_EQ(kept.size(), 1U);
  const std::string& text = kept[0].body["text"].as_string();
  EXPECT_LE(text.size(), 4200U);
  EXPECT_THAT(text, testing::StartsWith("xxx"));
  EXPECT_THAT(text, HasSubstr("... (20002 bytes)"));
}

TEST_F(AgentsTest, OnlySoManyRulesOfANodeStand) {
  const auto found = [&](std::int64_t n, const std::string& action, const std::string& result = "fault") {
    Json item = finding(n);
    return item.set("action", action).set("result", result);
  };
  Json items = Json::array();
  for (int n = 1; n <= 100; ++n) items.push(found(n, "notify"));
  const Json answer = deliver(std::move(items))->json();
  EXPECT_EQ(answer["kept"].as_int(), 64);
  EXPECT_EQ(answer["refused"].size(), 36U);
  EXPECT_THAT(answer["refused"].dump(), HasSubstr("64 rules of n3 stand"));
  EXPECT_EQ(daemon_->agents->findings("n3").size(), 64U);
  const auto left_out = [&] { return daemon_->agents->view("n3")["left_out"].as_int(); };
  EXPECT_EQ(left_out(), 36);
  EXPECT_THAT(ask(person("root"), "GET", "/metrics")->response.body,
              HasSubstr("sickbay_findings_left_out_total 36"));

  // One that asks for more than a notice goes before those, and what stands may be told again, and end.
  Json worse = found(101, "drain"), again = finding(102), end = finding(103);
  again.set("rule", "p1").set("action", "notify");
  end.set("rule", "p2").set("result", "ok").set("action", "none");
  const Json three = deliver(Json::array({worse, again, end}))->json();
  EXPECT_EQ(three["kept"].as_int(), 2);
  EXPECT_EQ(three["repeats"].as_int(), 1) << "it stands, and the journal has just heard of it";
  EXPECT_EQ(deliver(Json::array({found(104, "notify")}))->json()["kept"].as_int(), 1) << "a place is free";
  EXPECT_EQ(deliver(Json::array({found(105, "notify")}))->json()["kept"].as_int(), 0);
  start();
  EXPECT_EQ(daemon_->agents->findings("n3").size(), 64U);
  EXPECT_EQ(deliver(Json::array({found(106, "notify")}))->json()["kept"].as_int(), 0);
}

TEST_F(AgentsTest, AFindingThatAsksForARestartNamesWhat) {
  const auto asks = [&](std::int64_t n, const char* component, const char* of) {
    Json item = finding(n);
    return item.set("action", "restart").set("component", component).set("class", of);
  };
  Json drains = finding(5);
  drains.set("component", "slurmd");
  const Json answer =
      deliver(Json::array({asks(1, "slurmd", "component"), asks(2, "", "component"),
                           asks(3, "slurmd", "cluster"), asks(4, "opensm", "network"), drains}))
          ->json();
  EXPECT_EQ(answer["kept"].as_int(), 3);
  EXPECT_THAT(answer["refused"].dump(), HasSubstr("a finding that asks for a restart needs its 'component'"));
  EXPECT_THAT(answer["refused"].dump(),
              HasSubstr("'class' of a finding that asks for a restart is 'cluster'"));
  ASSERT_EQ(findings().size(), 3u);
  EXPECT_EQ(findings()[0].body["component"].as_string(), "slurmd");
  EXPECT_EQ(findings()[1].body["class"].as_string(), "network");
  EXPECT_FALSE(findings()[2].body.has("component")) << "of a restart alone";
}

TEST_F(AgentsTest, AFullDiskLosesNothingAndDoublesNothing) {
  deliver(Json::array({finding(1)}));
  journal_.set_full(true);
  EXPECT_EQ(deliver(Json::array({finding(2)}))->response.status, 507);
  EXPECT_EQ(deliver(Json::array({finding(2)}))->response.status, 507) << "told again until it is durable";
  journal_.set_full(false);
  pass(seconds(5));
  EXPECT_EQ(deliver(Json::array({finding(2), finding(3)}))->response.status, 200);
  ASSERT_EQ(findings().size(), 3u);
  EXPECT_EQ(findings()[1].body["n"].as_int(), 2);
  EXPECT_EQ(findings()[2].body["n"].as_int(), 3);
}

TEST_F(AgentsTest, ATaskWaitsForItsAgentAndAnswersWhoOrderedIt) {
  EXPECT_EQ(ask(person("alice"), "POST", "/v1/nodes/n3/diagnose", Json::object())->response.status, 403);
  EXPECT_EQ(ask(person("alice"), "GET", "/v1/tasks/1")->response.status, 403);
  const auto poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=0");
  EXPECT_FALSE(poll->answered) << "nothing to do yet";
  ASSERT_EQ(order("n3"), 1);
  ASSERT_TRUE(poll->answered);
  EXPECT_EQ(poll->json()["items"].dump(), R"([{"task":1,"kind":"diagnose","mode":"deep","repair":false}])");
  EXPECT_EQ(poll->json()["next"].as_int(), 1);
  EXPECT_EQ(poll->json()["slurm"]["state"].as_string(), "IDLE");
  const auto waiting = ask(person("ops"), "GET", "/v1/tasks/1");
  EXPECT_FALSE(waiting->answered);
  EXPECT_EQ(ask(agent_at("10.0.0.4"), "POST", "/v1/agent/results", results("n4", 1, Json::array()))
                ->response.status,
            404)
      << "not its task";
  EXPECT_EQ(
      ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results("n3", 1, Json::array({finding(1)})))
          ->response.status,
      200);
  ASSERT_TRUE(waiting->answered);
  EXPECT_EQ(waiting->json()["state"].as_string(), "over");
  EXPECT_EQ(waiting->json()["outcome"].as_string(), "fault");
  EXPECT_EQ(waiting->json()["result"]["runs"].items().at(0)["values"].dump(), R"({"x":1})");
  // Said twice, ended once.
  EXPECT_EQ(ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results("n3", 1, Json::array()))
                ->response.status,
            200);
  EXPECT_EQ(std::ranges::count(journal_.events(), std::string("diagnosed"), &Event::kind), 1);
}

TEST_F(AgentsTest, PollsEndAndTasksOutliveARestart) {
  auto poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=0");
  pass(AgentTasks::kLongPoll);
  ASSERT_TRUE(poll->answered);
  EXPECT_EQ(poll->json()["items"].size(), 0u);
  const std::int64_t task = order("n3", "key1");
  EXPECT_EQ(order("n3", "key1"), task) << "the same key";
  start();
  EXPECT_EQ(order("n3", "key1"), task) << "the same key after a restart";
  poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=0");
  ASSERT_TRUE(poll->answered) << "at once";
  EXPECT_EQ(poll->json()["items"].size(), 1u);
  // A connection that died takes no task with it.
  auto dead = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=1");
  dead->open = false;
  EXPECT_EQ(order("n3"), task + 1);
  EXPECT_FALSE(dead->answered);
  poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=1");
  ASSERT_TRUE(poll->answered);
  EXPECT_EQ(poll->json()["items"].items().at(0)["task"].as_int(), task + 1);
}

TEST_F(AgentsTest, AnOrderEndsWithItsAsker) {
  const auto order_attended = [&](const std::string& node, bool attended) {
    return ask(person("root"), "POST", "/v1/nodes/" + node + "/diagnose",
               Json::object({{"mode", "deep"}, {"attended", attended}}))
        ->json()["task"]
        .as_int();
  };
  const auto outcome = [&](std::int64_t task) {
    return ask(person("root"), "GET", fmt::format("/v1/tasks/{}", task))->json()["outcome"].as_string();
  };
  const auto show = [&](std::int64_t task) {
    return ask(person("root"), "GET", fmt::format("/v1/tasks/{}", task));
  };
  // Nobody has taken it, and he who asked gives up.
  const std::int64_t first = order_attended("n3", true);
  auto waits = show(first);
  pass(seconds(25));
  EXPECT_FALSE(waits->answered) << "he is there, so it waits";
  waits->open = false;
  pass(AgentTasks::kAskerAway + seconds(10));
  auto poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=0");
  EXPECT_FALSE(poll->answered) << "twelve minutes later nobody wants it run";
  EXPECT_EQ(outcome(first), "abandoned");
  // One that is under way is left.
  const std::int64_t second = order_attended("n3", true);
  ASSERT_TRUE(poll->answered);
  waits = show(second);
  poll = ask(agent_at("10.0.0.3"), "GET", fmt::format("/v1/agent/tasks?node=n3&after={}", second));
  waits->open = false;
  pass(AgentTasks::kAskerAway + seconds(10));
  ASSERT_TRUE(poll->answered);
  EXPECT_EQ(poll->json()["ended"].dump(), fmt::format("[{}]", second));
  EXPECT_EQ(poll->json()["items"].size(), 0u);
  // One that is let go stays, for as long as orders do.
  const std::int64_t third = order_attended("n4", false);
  pass(minutes(10));
  poll = ask(agent_at("10.0.0.4"), "GET", "/v1/agent/tasks?node=n4&after=0");
  ASSERT_TRUE(poll->answered);
  EXPECT_EQ(poll->json()["items"].items().at(0)["task"].as_int(), third);
}

TEST_F(AgentsTest, TwoQuickOrdersAreOneTask) {
  // Both come before Slurm's nodes are known, so that neither is durable when the other arrives.
  start();
  std::vector<std::shared_ptr<AgentAnswer>> answers;
  for (int i = 0; i < 2; ++i)
    answers.push_back(send(person("root"), "POST", "/v1/nodes/n3/diagnose", Json::object(), "key1"));
  pass(seconds(1));
  for (const auto& answer : answers) {
    EXPECT_EQ(answer->response.status, 201) << answer->response.body;
    EXPECT_EQ(answer->json()["task"].as_int(), 1);
  }
  EXPECT_EQ(std::ranges::count(journal_.events(), std::string("diagnose_wanted"), &Event::kind), 1);
}

TEST_F(AgentsTest, AnOrderThatTheJournalHasAlreadyIsNotRepeated) {
  pass(seconds(1));
  bool answered = false;
  daemon_->agents->tasks().order(
      "n3", Json::object(), "root", [](std::vector<Event>&, const Json&) { return false; },
      [&](Result<Json>) { answered = true; });
  pass(seconds(1));
  EXPECT_FALSE(answered) << "the book answers";
  EXPECT_EQ(std::ranges::count(journal_.events(), std::string("diagnose_wanted"), &Event::kind), 0);
}

TEST_F(AgentsTest, OneReadingOfTheJournalBringsEverythingBack) {
  // Each kind of memory: a case with its key, an agent, findings, a task that is over and one that is not.
  Submission job;
  job.script = "#!/bin/sh\n#SIM run=30s\n";
  job.script_name = "job.sh";
  job.work_dir = "/home/alice";
  const auto open_case = [&] {
    return ask(person("alice"), "POST", "/v1/cases",
               Json::object({{"submission", job.to_json()}, {"options", Json::object()}}), "case1")
        ->response.body;
  };
  const std::string opened = open_case();
  ask(agent_at("10.0.0.3"), "POST", "/v1/agent/hello",
      Json::object({{"node", "n3"},
                    {"boot_id", "b1"},
                    {"version", "1"},
                    {"digests", Json::object({{"node", "aa"}})},
                    {"mode", "quick"}}));
  deliver(Json::array({finding(1), finding(2)}));
  ASSERT_EQ(order("n3", "task1"), 1);
  ASSERT_EQ(order("n4", "task2"), 2);
  ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results("n3", 1, Json::array({finding(1)})));

  // What can be seen of it from outside, but for what is said to be lost: when an agent was seen or given a
  // task, and the whole of a result.
  const auto all = [&] {
    std::string text = daemon_->controller.canonical_text();
    for (const char* node : {"n3", "n4"}) {
      Json agent = daemon_->agents->view(node);
      text += agent["version"].dump() + agent["digests"].dump() + agent["mode"].dump() + "\n";
    }
    for (const char* target : {"/v1/tasks/1", "/v1/tasks/2"}) {
      const auto answer = ask(person("root"), "GET", target);
      pass(AgentTasks::kLongPoll);
      Json task = answer->json();
      text += task.set("agent", Json()).set("given", Json()).set("result", Json()).dump() + "\n";
    }
    return text;
  };
  const std::string before = all();
  counted_.reads = 0;
  start();
  EXPECT_EQ(counted_.reads, 1);
  EXPECT_EQ(all(), before);
  EXPECT_EQ(open_case(), opened) << "the same key";
  EXPECT_EQ(order("n4", "task2"), 2) << "the same key";
  EXPECT_EQ(deliver(Json::array({finding(1), finding(2), finding(3)}))->json()["repeats"].as_int(), 2);
  ASSERT_EQ(findings().size(), 3U);
  EXPECT_EQ(findings()[2].subject, "f3");
  // A task whose time has run out meanwhile ends at once.
  stop();
  pass(AgentTasks::kLife);
  start();
  pass(seconds(1));
  EXPECT_EQ(ask(person("root"), "GET", "/v1/tasks/2")->json()["outcome"].as_string(), "expired");
}

TEST_F(AgentsTest, SaysWhatCannotBeDiagnosed) {
  const auto no_node =
      ask(person("root"), "POST", "/v1/nodes/n33/diagnose", Json::object({{"mode", "quick"}}));
  EXPECT_EQ(no_node->response.status, 404);
  EXPECT_THAT(no_node->response.body, HasSubstr("did you mean n3?"));
  EXPECT_EQ(ask(person("root"), "POST", "/v1/nodes/n3/diagnose", Json::object({{"mode", "rough"}}))
                ->response.status,
            400);
  EXPECT_EQ(ask(person("root"), "GET", "/v1/tasks/99")->response.status, 404);
  EXPECT_EQ(ask(person("root"), "GET", "/v1/tasks/x")->response.status, 400);
}

TEST_F(AgentsTest, AnExaminationIsAnsweredOrExpires) {
  std::vector<std::string> answers;
  const auto listen = [&](Result<Json> r) { answers.push_back(r ? r->dump() : r.error().what); };
  daemon_->agents->tasks().examine("n3", "deep", listen);
  daemon_->agents->tasks().examine("n4", "deep", listen);
  pass(milliseconds(100));
  ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results("n3", 1, Json::array()));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0], R"({"passed":true,"whole":true,"faults":0,"unknown":0})");
  daemon_->agents->tasks().examine("n5", "quick", listen);
  pass(milliseconds(100));
  ask(agent_at("10.0.0.5"), "POST", "/v1/agent/results",
      results("n5", 3, Json::array({finding(1).set("action", "notify"), finding(2), finding(3)})));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(
      answers[1],
      R"({"passed":false,"whole":true,"faults":3,"unknown":0,"drains":2,"sick":"node/p2: a bank is lost"})");
  answers.pop_back();
  pass(AgentTasks::kLife + minutes(2));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_THAT(answers[1], HasSubstr("no agent on n4"));
}

TEST_F(AgentsTest, WhatAnAgentCanRestartIsJournaledWhenItChanges) {
  const auto hello = [&](Json components) {
    return ask(agent_at("10.0.0.3"), "POST", "/v1/agent/hello",
               Json::object({{"node", "n3"},
                             {"boot_id", "b1"},
                             {"version", "1"},
                             {"digests", Json::object()},
                             {"components", std::move(components)}}))
        ->response.status;
  };
  const auto seen = [&] {
    return std::ranges::count(journal_.events(), std::string("components_seen"), &Event::kind);
  };
  const Json one = Json::array({Json::object({{"name", "slurmd"}, {"takes_us", 5}})});
  ASSERT_EQ(hello(Json::array()), 200);
  ASSERT_EQ(hello(Json("none")), 200);
  EXPECT_EQ(seen(), 0);
  ASSERT_EQ(hello(one), 200);
  ASSERT_EQ(hello(one), 200);
  EXPECT_EQ(seen(), 1);
  start();
  ASSERT_EQ(hello(one), 200);
  EXPECT_EQ(seen(), 1) << "the journal remembers";
  ASSERT_EQ(hello(Json::array()), 200);
  EXPECT_EQ(seen(), 2) << "that there are none any more, too";
}

TEST_F(AgentsTest, AnActIsOrderedOncePerKeyAndAnswered) {
  const Json order = Json::object({{"act", "restart"}, {"components", Json::array({"slurmd"})}});
  std::vector<std::string> answers;
  const auto listen = [&](Result<Json> r) { answers.push_back(r ? r->dump() : r.error().line()); };
  const auto act = [&](const char* node, const char* key) {
    daemon_->agents->tasks().act(node, key, order, listen);
    pass(milliseconds(100));
  };
  act("n3", "r1.s1");
  act("n3", "r1.s1");  // the same command, met again
  const auto poll = ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=0");
  ASSERT_EQ(poll->json()["items"].size(), 1u) << poll->response.body;
  const Json task = poll->json()["items"].items()[0];
  EXPECT_EQ(task["kind"].as_string(), "component");
  EXPECT_EQ(task["order"].dump(), order.dump());
  const Json said = Json::object({{"restarted", true}, {"cured", true}});
  const auto results_of = [&](const Json& of, bool whole) {
    Json body = Json::object({{"node", "n3"}, {"task", of["task"]}, {"whole", whole}});
    return whole ? body.set("answer", said)
                 : body.set("error", Json::object({{"what", "not permitted"}, {"cause", "repair.allowed"}}));
  };
  ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results_of(task, true));
  ASSERT_EQ(answers.size(), 2u) << "both who wait";
  EXPECT_EQ(answers[0], said.dump());
  EXPECT_EQ(answers[1], said.dump());
  // Said again by the agent, and asked again after a start of sickbayd: it is done already.
  EXPECT_EQ(ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results_of(task, false))->response.status,
            200);
  start();
  act("n3", "r1.s1");
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[2], said.dump());
  // What the agent refuses.
  act("n3", "r1.s2");
  const Json second =
      ask(agent_at("10.0.0.3"), "GET", "/v1/agent/tasks?node=n3&after=1")->json()["items"].items()[0];
  ask(agent_at("10.0.0.3"), "POST", "/v1/agent/results", results_of(second, false));
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_THAT(answers[3], HasSubstr("not permitted"));
  // Nobody takes it; no such node.
  act("n4", "r1.s3");
  pass(AgentTasks::kActLife + minutes(2));
  ASSERT_EQ(answers.size(), 5u);
  EXPECT_THAT(answers[4], HasSubstr("no agent on n4"));
  act("n33", "r1.s4");
  ASSERT_EQ(answers.size(), 6u);
  EXPECT_THAT(answers[5], HasSubstr("no node 'n33'"));
}

}  // namespace
}  // namespace sickbay
