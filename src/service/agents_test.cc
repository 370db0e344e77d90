// SPDX-License-Identifier: Apache-2.0
// Agents and the endpoints they call: who is an agent, what it says of itself and its node, and what a
// restart leaves of that.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "service/agents_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

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

}  // namespace
}  // namespace sickbay
