// SPDX-License-Identifier: Apache-2.0
// Two agents' parts over datagrams that this test carries, in virtual time.
#include "service/agent/neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/sim/sim_loop.h"
#include "base/digest/hmac.h"

namespace sickbay::agent {
namespace {

using namespace std::chrono_literals;

// Whoever is bound to an address hears what is sent there.
struct Wire {
  std::map<std::string, std::function<void(std::string_view)>> at;
  std::set<std::string> dead;
  std::vector<std::string> seen;
  Loop* loop = nullptr;

  struct End final : Datagrams {
    Wire& wire;
    std::string own;
    End(Wire& w, std::string address) : wire(w), own(std::move(address)) {}
    ~End() override { wire.at.erase(own); }
    void send(const std::string& address, std::uint16_t, std::string_view bytes) override {
      wire.seen.emplace_back(bytes);
      if (wire.dead.contains(own) || wire.dead.contains(address)) return;
      wire.loop->post([&w = wire, address, text = std::string(bytes)] {
        if (const auto it = w.at.find(address); it != w.at.end()) it->second(text);
      });
    }
  };
  OpenDatagrams open() {
    return [this](const std::string& address, std::uint16_t,
                  std::function<void(std::string_view)> come) -> Result<std::unique_ptr<Datagrams>> {
      if (at.contains(address)) return fail(ErrorCode::conflict, "in use");
      at[address] = std::move(come);
      return std::make_unique<End>(*this, address);
    };
  }
};

class NeighboursTest : public testing::Test {
 protected:
  NeighboursTest() {
    wire.loop = &loop;
    for (const char* node : {"n1", "n2", "n3"})
      parts[node] = std::make_unique<Neighbours>(
          loop, node, wire.open(),
          [this](const std::string& address, std::uint16_t port, Done<bool> said) {
            EXPECT_EQ(port, 6818);
            ++questions;
            loop.at(loop.now() + 1s, [said, answers = slurmds.contains(address)] { said(answers); });
          },
          [this] { return ++random; },
          [this, node = std::string(node)](Json report) { reports.emplace_back(node, std::move(report)); },
          [this](const std::string& line) { log.push_back(line); });
  }
  static Json told(std::int64_t version, int group = 7, const std::string& key = std::string(64, 'a')) {
    Json members = Json::array();
    for (const char* n : {"1", "2", "3"})
      members.push(Json::object(
          {{"node", std::string("n") + n}, {"address", std::string("10.0.0.") + n}, {"slurmd_port", 6818}}));
    return Json::object(
        {{"version", version},
         {"port", 6831},
         {"groups",
          Json::array({Json::object({{"job", 17}, {"group", group}, {"key", key}, {"members", members}})})}});
  }
  static Json none(std::int64_t version) {
    return Json::object({{"version", version}, {"port", 6831}, {"groups", Json::array()}});
  }
  void tell_all(const Json& json) {
    for (auto& [node, part] : parts) part->take(json);
  }
  void pass(Micros time) { loop.run_until(loop.now() + time); }

  sim::SimLoop loop;
  Wire wire;
  std::set<std::string> slurmds;  ///< addresses whose slurmd's port answers
  int questions = 0;
  std::uint32_t random = 0;
  std::map<std::string, std::unique_ptr<Neighbours>> parts;
  std::vector<std::pair<std::string, Json>> reports;
  std::vector<std::string> log;
};

TEST_F(NeighboursTest, TellWhoFallsSilentByName) {
  tell_all(told(1));
  pass(5s);
  EXPECT_TRUE(reports.empty());
  wire.dead.insert("10.0.0.3");
  pass(5s);
  ASSERT_FALSE(reports.empty());
  for (const auto& [node, report] : reports) {
    if (node == "n3") continue;  // it cannot know that it is the one
    EXPECT_EQ(report["group"].as_int(), 7);
    const Json& item = report["items"].items().at(0);
    EXPECT_EQ(item["node"].as_string(), "n3");
    EXPECT_TRUE(item["silent"].as_bool());
    EXPECT_THAT(item["seen_by"].as_strings(), testing::ElementsAre(node == "n1" ? "n2" : "n1"));
    EXPECT_GE(item["silent_ms"].as_int(), 1800);
  }
  EXPECT_TRUE(std::ranges::none_of(reports, [](const auto& r) { return r.first == "n3"; }))
      << "who hears nobody accuses nobody";
}

// Its agent was started anew, and sickbayd cannot tell it its groups: the node is well.
TEST_F(NeighboursTest, WhoseSlurmdAnswersIsNotReported) {
  tell_all(told(1));
  pass(5s);
  EXPECT_EQ(questions, 0) << "who is heard is not asked";
  slurmds.insert("10.0.0.3");
  parts["n3"] = nullptr;
  pass(10s);
  EXPECT_TRUE(reports.empty());
  EXPECT_THAT(log, testing::Contains("event=silent_but_answers group=7 node=n3"));
  EXPECT_GE(questions, 4);
  EXPECT_LT(questions, 20) << "two of them, every 2 s";

  slurmds.clear();  // and now the node dies
  pass(5s);
  EXPECT_FALSE(reports.empty());
  for (const auto& [node, report] : reports)
    EXPECT_EQ(report["items"].items().at(0)["node"].as_string(), "n3") << node;
}

TEST_F(NeighboursTest, SendNothingWithoutAGroupAndNothingAfterItsEnd) {
  pass(10s);
  EXPECT_TRUE(wire.seen.empty());
  tell_all(told(1));
  pass(3s);
  EXPECT_FALSE(wire.seen.empty());
  tell_all(none(0));
  wire.seen.clear();
  pass(10s);
  EXPECT_TRUE(wire.seen.empty());
  EXPECT_TRUE(wire.at.empty()) << "the sockets are closed";
  EXPECT_TRUE(reports.empty());
}

TEST_F(NeighboursTest, AGroupThatIsToldAgainGoesOn) {
  tell_all(told(1));
  pass(3s);
  log.clear();
  tell_all(told(2));
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(parts["n1"]->version(), 2);
  tell_all(told(3, 8));
  EXPECT_THAT(log, testing::Contains("event=group_ended group=7"));
  EXPECT_THAT(log, testing::Contains("event=group_begun group=8 members=3"));
}

// One node of a job has died, the group of the others is made anew, and one of them dies before it was heard
// there.
TEST_F(NeighboursTest, WhoDiesWhileItsGroupIsMadeAnewIsReported) {
  tell_all(told(1));
  pass(5s);
  wire.dead.insert("10.0.0.3");
  tell_all(told(2, 8, std::string(64, 'b')));
  pass(5s);
  ASSERT_FALSE(reports.empty());
  for (const auto& [node, report] : reports) {
    EXPECT_EQ(report["group"].as_int(), 8);
    EXPECT_EQ(report["items"].items().at(0)["node"].as_string(), "n3");
  }
}

// Its agent cannot be told of the new group, being cut off from sickbayd alone.
TEST_F(NeighboursTest, WhoStaysInTheOldGroupIsNotReportedWhileItsSlurmdAnswers) {
  slurmds = {"10.0.0.1", "10.0.0.2", "10.0.0.3"};
  tell_all(told(1));
  pass(5s);
  for (const char* node : {"n1", "n2"}) parts[node]->take(told(2, 8, std::string(64, 'b')));
  pass(20s);
  EXPECT_TRUE(reports.empty());
}

TEST_F(NeighboursTest, HearNobodyWhoHasAnotherKey) {
  tell_all(told(1));
  parts["n3"]->take(told(2, 7, std::string(64, 'b')));  // (the same number: it keeps the key it has)
  parts["n3"]->take(none(0));
  parts["n3"]->take(told(3, 7, std::string(64, 'b')));
  pass(20s);
  EXPECT_TRUE(reports.empty()) << "who was never heard is not missed";
}

TEST_F(NeighboursTest, RubbishChangesNothing) {
  tell_all(told(1));
  pass(3s);
  const auto come = wire.at.at("10.0.0.1");
  wire.seen.clear();
  come("");
  come("x");
  come(std::string(42, '\0'));
  come(std::string("\1\1\0\0\0\7", 6) + std::string(60, 'x'));
  come(seal("no message", std::string(32, '\xaa')));
  EXPECT_TRUE(wire.seen.empty());
}

TEST_F(NeighboursTest, WhatCannotBeReadIsLeftOutAndSaid) {
  Neighbours& part = *parts["n1"];
  for (const auto& [member, value] : std::vector<std::pair<std::string, Json>>{{"group", -1},
                                                                               {"group", "7"},
                                                                               {"key", "ab"},
                                                                               {"key", std::string(64, 'x')},
                                                                               {"members", Json::array()}}) {
    Json one = told(1);
    Json group = one["groups"].items()[0];
    group.set(member, value);
    one.set("groups", Json::array({group}));
    log.clear();
    part.take(one);
    EXPECT_EQ(part.groups(), 0u) << member;
    ASSERT_EQ(log.size(), 1u);
    EXPECT_THAT(log[0], testing::HasSubstr("group_not_read"));
  }
}

}  // namespace
}  // namespace sickbay::agent
