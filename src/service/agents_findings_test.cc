// SPDX-License-Identifier: Apache-2.0
// What agents find: which findings are journaled, what stands, and what a flood of them or a full disk does.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "service/agent_words.h"
#include "service/agents_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

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

}  // namespace
}  // namespace sickbay
