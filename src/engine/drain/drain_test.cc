// SPDX-License-Identifier: Apache-2.0
// The drain engine driven by events alone: what leaves, what the breaker keeps, what comes back.
#include "engine/drain/drain.h"

#include <gmock/gmock.h>

#include <random>

#include "base/hostlist.h"

namespace sickbay::drain {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

// A cluster that answers: intents become done, and what is drained shows as drained.
struct World {
  State state;
  Policy policy;
  TimePoint now = from_unix_seconds(1'800'000'000);
  std::int64_t seq = 0;
  std::vector<Event> log;
  std::vector<std::string> did;                 // "drain n3", in order
  std::map<std::string, std::string> refusals;  // "drain n3" -> why it fails
  bool check_passes = false;
  TimePoint wake_at = kNever;
  std::set<std::string> touched, intended;
  bool asking = false;

  World() { policy.act = policy.examine = true; }

  void say(std::string subject, std::string_view kind, Json body) {
    Event event;
    event.seq = ++seq;
    event.at = now;
    event.subject = std::move(subject);
    event.kind = kind;
    event.body = std::move(body);
    take(event);
  }
  // As the controller does it: facts first, then the engine until it is at rest, then the effects of one
  // round.
  void take(const Event& event) {
    log.push_back(event);
    for (std::string& node : apply(state, event)) touched.insert(std::move(node));
    std::set<std::string> away;  // by a walk over all nodes, after every event of every test
    for (const auto& [name, node] : state.nodes)
      if (node.ours || node.pending) away.insert(name);
    EXPECT_EQ(state.away, away) << event.text();
    EXPECT_EQ(wants_nodes(state), !away.empty() || !state.waiting.empty());
    if (!asking) settle();
  }
  void settle() {
    asking = true;
    std::vector<Command> todo;
    while (!touched.empty()) {
      const std::string node = *touched.begin();
      touched.erase(touched.begin());
      const Decision decision = decide(state, policy, node, now);
      for (const Event& record : decision.records) say(record.subject, record.kind, record.body);
      for (const Command& command : decision.commands)
        if (intended.insert(command.key).second) {
          say(command.subject, kIntent,
              Json::object({{"key", command.key}, {"verb", command.verb}, {"args", command.args}}));
          todo.push_back(command);
        }
      wake_at = std::min(wake_at, decision.wake_at);
    }
    asking = false;
    for (const Command& command : todo) run(command);
  }
  void run(const Command& command) {
    const std::string what = command.verb + " " + command.args["node"].as_string();
    did.push_back(what);
    Json body = Json::object({{"key", command.key}, {"verb", command.verb}});
    if (const auto it = refusals.find(what); it != refusals.end()) {
      body.set("error", Json::object({{"what", it->second}}));
      return say(command.subject, kFailed, body);
    }
    body.set("result", Json::object({{"passed", check_passes}}));
    say(command.subject, kDone, body);
    if (command.verb == "drain" || command.verb == "undrain")
      nodes(command.args["node"].as_string(), command.verb == "drain" ? "IDLE+DRAIN" : "IDLE");
  }
  void nodes(const std::string& hostlist, const std::string& shown,
             std::vector<std::string> partitions = {"batch"}) {
    say("cluster", "nodes_seen",
        Json::object({{"groups", Json::array({Json::object({{"nodes", hostlist},
                                                            {"state", shown},
                                                            {"usable", shown == "IDLE"},
                                                            {"down", shown.starts_with("DOWN")},
                                                            {"partitions", partitions}})})}}));
  }
  void gone(const std::string& hostlist) {
    say("cluster", "nodes_seen",
        Json::object({{"groups", Json::array({Json::object({{"nodes", hostlist}, {"gone", true}})})}}));
  }
  void finding(int no, const std::string& node, const std::string& rule, const std::string& result = "fault",
               const std::string& action = "drain", bool late = false) {
    say("f" + std::to_string(no), kFinding,
        Json::object({{"node", node},
                      {"specification", "node"},
                      {"rule", rule},
                      {"result", result},
                      {"action", action},
                      {"text", rule + " is broken"},
                      {"late", late}}));
  }
  void verdict(const std::string& node, bool final = true, const std::string& cause = "b") {
    say("c1", "verdict",
        Json::object({{"cause", cause},
                      {"final", final},
                      {"nodes", Json::array({node})},
                      {"sentence", "It was " + node}}));
  }
  // Lets time pass, with what was asked for at its moments.
  void pass(std::chrono::seconds time) {
    const TimePoint until = now + time;
    while (wake_at <= until) {
      now = std::max(now, wake_at);
      wake_at = kNever;
      for (const auto& [name, node] : state.nodes) touched.insert(name);
      settle();
    }
    now = until;
  }
  std::string_view stands(const std::string& node) const { return standing(state, policy, node); }
  std::vector<std::string> kinds(std::string_view kind) const {
    std::vector<std::string> found;
    for (const Event& event : log)
      if (event.kind == kind) found.push_back(event.body.dump());
    return found;
  }
};

TEST(Drain, AFaultTakesTheNodeOutAndItsEndBringsItBack) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  EXPECT_THAT(w.did, ElementsAre("drain n3"));
  EXPECT_EQ(w.stands("n3"), "out");
  w.finding(2, "n3", "disk", "ok", "none");
  w.pass(599s);
  EXPECT_EQ(w.stands("n3"), "out") << "not before the stated time";
  w.pass(2s);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "undrain n3"));
  EXPECT_EQ(w.stands("n3"), "in");
}

TEST(Drain, TheReasonInSlurmNamesFindingAndRule) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(9, "n3", "disk");
  for (const Event& event : w.log)
    if (event.kind == kIntent) {
      EXPECT_EQ(event.body["args"]["reason"].as_string(), "sickbay:f9 node/disk: disk is broken");
    }
}

TEST(Drain, AFaultThatComesBackBeforeTheTimeIsUpKeepsTheNodeOut) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.finding(2, "n3", "disk", "ok", "none");
  w.pass(300s);
  w.finding(3, "n3", "disk");
  w.pass(3600s);
  EXPECT_THAT(w.did, ElementsAre("drain n3"));
}

TEST(Drain, ANodeThatWasGoneForAWhileIsTakenOutAgain) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.gone("n3");
  EXPECT_EQ(w.stands("n3"), "in") << "what was said of it went with it";
  w.nodes("n3", "IDLE");
  EXPECT_EQ(w.stands("n3"), "in");
  w.finding(2, "n3", "disk");
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n3"));
  EXPECT_EQ(w.stands("n3"), "out");
  w.gone("n4");
  EXPECT_EQ(w.state.nodes.count("n4"), 0u) << "nothing of it need be kept";
}

TEST(Drain, TwoReasonsMustBothEnd) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.finding(2, "n3", "clock");
  w.finding(3, "n3", "disk", "ok", "none");
  w.pass(1h);
  EXPECT_EQ(w.stands("n3"), "out");
  w.finding(4, "n3", "clock", "ok", "none");
  w.pass(1h);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "undrain n3"));
}

TEST(Drain, UnknownLateAndNotifyNeverDrain) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk", "unknown", "none");
  w.finding(2, "n3", "disk", "unknown", "drain");
  w.finding(3, "n3", "disk", "fault", "notify");
  w.finding(4, "n3", "disk", "fault", "drain", true);
  EXPECT_THAT(w.did, IsEmpty());
  EXPECT_EQ(w.stands("n3"), "in");
}

TEST(Drain, ByDefaultItOnlyObserves) {
  World w;
  w.policy.act = Policy().act;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.pass(24h);
  EXPECT_THAT(w.did, IsEmpty());
  EXPECT_EQ(w.stands("n3"), "observed");
  EXPECT_TRUE(node_view(w.state, w.policy, "n3")["observe_only"].as_bool());
}

TEST(Drain, TheBreakerStopsAWrongRuleAndUndoPutsBack) {
  World w;
  w.nodes("n[1-6]", "IDLE");
  for (int i = 1; i <= 6; ++i) w.finding(i, "n" + std::to_string(i), "wrong");
  EXPECT_THAT(w.did, ElementsAre("drain n1"));  // max(1, min(5, 5 % of 6))
  EXPECT_EQ(w.stands("n2"), "waits");
  EXPECT_THAT(w.kinds(kBreakerTripped), ::testing::SizeIs(5));
  w.pass(24h);
  EXPECT_THAT(w.did, ElementsAre("drain n1")) << "an hour later 20 % are still out";
  w.say("cluster", kUndoDrains,
        Json::object({{"by", "root"}, {"nodes", ""}, {"rule", ""}, {"rest_until", to_micros(w.now + 24h)}}));
  EXPECT_THAT(w.did, ElementsAre("drain n1", "undrain n1"));
  for (int i = 1; i <= 6; ++i) {
    w.finding(10 + i, "n" + std::to_string(i), "wrong");
    EXPECT_EQ(w.stands("n" + std::to_string(i)), "observed") << "the rule rests";
  }
  w.finding(20, "n5", "disk");
  EXPECT_EQ(w.stands("n5"), "out") << "other rules do not rest";
}

TEST(Drain, TheBreakerLetsTheNextGoWhenTheWindowHasPassed) {
  World w;
  w.policy.most_out_percent = 100;
  w.nodes("n[1-6]", "IDLE");
  w.finding(1, "n1", "disk");
  w.finding(2, "n2", "disk");
  EXPECT_THAT(w.did, ElementsAre("drain n1"));
  w.pass(1h);
  EXPECT_THAT(w.did, ElementsAre("drain n1", "drain n2"));
  EXPECT_THAT(w.kinds(kBreakerReset), ::testing::SizeIs(1));
}

TEST(Drain, DrainsOfPeopleCountAndAreNotUndone) {
  World w;
  w.nodes("n[1-6]", "IDLE");
  w.nodes("n1", "IDLE+DRAIN");
  w.finding(1, "n2", "disk");
  EXPECT_EQ(w.stands("n2"), "waits");
  w.finding(2, "n1", "disk");
  EXPECT_EQ(w.stands("n1"), "foreign");
  w.finding(3, "n1", "disk", "ok", "none");
  w.pass(30min);
  EXPECT_THAT(w.did, IsEmpty());
}

TEST(Drain, ANodeOfTwoPartitionsNeedsRoomInBoth) {
  World w;
  w.nodes("n[1-100]", "IDLE", {"big"});
  w.nodes("n[1-4]", "IDLE", {"big", "small"});
  w.finding(1, "n1", "disk");
  w.finding(2, "n2", "disk");
  w.finding(3, "n50", "disk");
  EXPECT_THAT(w.did, ElementsAre("drain n1", "drain n50"));
}

TEST(Drain, WhoPutsANodeBackByHandIsRight) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.nodes("n3", "IDLE");  // scontrol update nodename=n3 state=resume
  EXPECT_EQ(w.stands("n3"), "in");
  w.pass(24h);
  EXPECT_THAT(w.did, ElementsAre("drain n3"));
}

TEST(Drain, ARefusedDrainIsNotTriedAgainUntilTheNodeIsFree) {
  World w;
  w.refusals["drain n3"] = "node n3 has the reason 'fan'";
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  EXPECT_EQ(w.stands("n3"), "refused");
  w.pass(24h);
  EXPECT_THAT(w.did, ElementsAre("drain n3"));
  w.refusals.clear();
  w.nodes("n3", "IDLE");
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n3"));
}

TEST(Drain, AVerdictDrainsAndADeepDiagnosisThatPassesLifts) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.verdict("n3", false);
  w.verdict("n4", true, "a");
  EXPECT_THAT(w.did, IsEmpty()) << "neither a provisional verdict nor one against the program";
  w.verdict("n3");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3"));
  w.check_passes = true;
  w.pass(3600s);
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3", "diagnose n3"));
  w.pass(600s);
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3", "diagnose n3", "undrain n3"));
  EXPECT_THAT(w.kinds(kReasonEnded), ::testing::SizeIs(1));
}

TEST(Drain, FindingsAreToldOnceWhereSomebodyListens) {
  World w;
  w.policy.notify = true;
  w.policy.act = false;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk", "fault", "notify");
  w.finding(2, "n3", "fan", "unknown", "none");
  w.pass(24h);
  EXPECT_THAT(w.did, ElementsAre("notify "));
}

// Whatever agents, cases and people do: the breaker's bounds hold at every moment, and a replay of the events
// gives the same state.
TEST(DrainProperty, TheBreakerHoldsAndReplayIsEqual) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    World w;
    const int size = 1 + pick(60);
    w.nodes("n[1-" + std::to_string(size) + "]", "IDLE");
    const int limit = std::max(1, std::min(5, size * 5 / 100)), most_out = std::max(1, size * 20 / 100);
    for (int step = 0; step < 200; ++step) {
      const std::string node = "n" + std::to_string(1 + pick(size)), rule = "r" + std::to_string(pick(3));
      switch (pick(9)) {
        case 0:
        case 1:
        case 2:
          w.finding(step, node, rule);
          break;
        case 3:
          w.finding(step, node, rule, "ok", "none");
          break;
        case 4:
          w.verdict(node);
          break;
        case 5:
          w.nodes(node, pick(3) == 0 ? "DOWN" : "IDLE");
          break;
        case 6:
          w.check_passes = pick(2) == 0;
          w.pass(std::chrono::seconds(pick(2000)));
          break;
        case 7:
          w.gone(node);  // and back, when it is seen again
          break;
        default:
          w.say("cluster", kUndoDrains,
                Json::object(
                    {{"by", "root"}, {"nodes", node}, {"rule", ""}, {"rest_until", to_micros(w.now + 1h)}}));
      }
      int out = 0;
      for (const auto& [name, n] : w.state.nodes) out += n.ours;
      ASSERT_LE(out, most_out) << "seed " << seed << " step " << step;
    }
    std::deque<TimePoint> drains;
    for (const Event& event : w.log) {
      if (event.kind != kIntent || event.body["verb"].as_string() != "drain") continue;
      drains.push_back(event.at);
      while (drains.front() <= event.at - w.policy.window) drains.pop_front();
      ASSERT_LE(static_cast<int>(drains.size()), limit) << "seed " << seed;
    }
    State again;
    for (const Event& event : w.log) (void)apply(again, event);
    EXPECT_EQ(canonical_text(again), canonical_text(w.state)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sickbay::drain
