// SPDX-License-Identifier: Apache-2.0
// Nodes that leave for one rule again and again.
#include <gmock/gmock.h>

#include "engine/drain/drain_world.h"
#include "model/verbs.h"

namespace sickbay::drain {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// A fault of a rule that comes, and goes, and is gone for long enough.
struct Flapping : World {
  Flapping() { nodes("n[1-40]", "IDLE"); }
  void flap(const std::string& rule = "fan", std::chrono::seconds then = 1h) {
    finding(++no, "n3", rule);
    pass(60s);
    finding(++no, "n3", rule, "ok", "none");
    pass(policy.lift_after + then);
  }
  void undo(const std::string& rule) {
    say("cluster", kUndoDrains,
        Json::object(
            {{"by", "root"}, {"nodes", "n3"}, {"rule", rule}, {"rest", kRestOnNodes}, {"rest_until", 0}}));
  }
  std::string last_reason() const {
    std::string reason;
    for (const Event& event : log)
      if (event.kind == kIntent && event.body["verb"].as_string() == verb::kDrain)
        reason = event.body["args"]["reason"].as_string();
    return reason;
  }
  int no = 0;
};

// Published of Kubernetes as #12041 (doc/peers.md).
TEST(Flaps, TheThirdTimeInADayItStaysOutUntilAPersonPutsItBack) {
  Flapping w;
  w.flap();
  w.flap();
  EXPECT_THAT(w.did, ElementsAre("drain n3", "undrain n3", "drain n3", "undrain n3"));
  EXPECT_THAT(w.last_reason(), EndsWith("fan is broken"));
  EXPECT_EQ(w.view("n3")["kept"].as_string(), "");
  w.flap();
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_EQ(w.last_reason(), "sickbay:f5 node/fan: fan is broken (3 times in 1 d: stays out until put back)");
  EXPECT_EQ(
      w.view("n3")["kept"].as_string(),
      "drained 3 times within 1 d for node/fan: stays out, also without its fault, until somebody puts it "
      "back (sickbay undo-drains n3)");
  w.flap();
  w.pass(72h);
  EXPECT_EQ(w.stands("n3"), "out") << "not because time goes by";
  EXPECT_EQ(w.did.size(), 5u);
  EXPECT_EQ(w.left.size(), 3u) << "nothing more of the breaker was used";
  w.undo("");
  EXPECT_EQ(w.stands("n3"), "in");
  w.flap();
  EXPECT_EQ(w.stands("n3"), "in") << "it counts anew";
}

TEST(Flaps, WhoPutsItBackInSlurmIsRight) {
  Flapping w;
  for (int i = 0; i < 3; ++i) w.flap();
  ASSERT_EQ(w.stands("n3"), "out");
  w.nodes("n3", "IDLE");
  EXPECT_EQ(w.stands("n3"), "in");
  w.flap();
  EXPECT_EQ(w.stands("n3"), "in");
}

TEST(Flaps, OnlyTheSameRuleWithinTheTimeCounts) {
  Flapping w;
  for (int i = 0; i < 6; ++i) w.flap("fan", 13h);
  EXPECT_EQ(w.stands("n3"), "in") << "two in any 24 h";
  Flapping other;
  for (const char* rule : {"fan", "disk", "link", "clock", "fan", "disk"}) other.flap(rule);
  EXPECT_EQ(other.stands("n3"), "in");
  EXPECT_EQ(other.did.size(), 12u);
}

TEST(Flaps, AnUndoOfAnotherRuleDoesNotPutItBack) {
  Flapping w;
  for (int i = 0; i < 3; ++i) w.flap();
  w.undo("node/disk");
  w.pass(1h);
  EXPECT_EQ(w.stands("n3"), "out");
  w.undo("node/fan");
  EXPECT_EQ(w.stands("n3"), "in");
}

TEST(Flaps, ASiteMayHaveItOtherwise) {
  Flapping w;
  w.policy.flap_most = 0;
  for (int i = 0; i < 10; ++i) w.flap();
  EXPECT_EQ(w.stands("n3"), "in");
  Flapping once;
  once.policy.flap_most = 1;
  once.flap();
  EXPECT_EQ(once.stands("n3"), "out");
  EXPECT_THAT(once.view("n3")["kept"].as_string(), HasSubstr("drained 1 times"));
}

// One leave, however often it had to be said.
TEST(Flaps, ADrainThatIsSaidAgainCountsOnce) {
  Flapping w;
  w.silent = {"drain n3"};
  w.finding(++w.no, "n3", "fan");
  w.pass(kSayAgain);
  w.pass(kSayAgain);
  w.silent.clear();
  w.pass(kSayAgain);
  ASSERT_EQ(w.stands("n3"), "out");
  EXPECT_GE(w.did.size(), 3u);
  EXPECT_EQ(w.state.nodes.at("n3").left.at("node/fan").size(), 1u);
  w.now += 20s;
  w.say("cluster", kControllerSeen, Json::object({{"boot", to_micros(w.now)}}));
  w.nodes("n3", "IDLE");  // slurmctld forgot it
  ASSERT_EQ(w.stands("n3"), "out");
  EXPECT_EQ(w.state.nodes.at("n3").left.at("node/fan").size(), 1u);
}

// Kept, and its fault is gone: that Slurm forgets the drain does not put it back.
TEST(Flaps, AKeptNodeThatSlurmForgetsIsDrainedAgain) {
  Flapping w;
  for (int i = 0; i < 3; ++i) w.flap();
  ASSERT_EQ(w.stands("n3"), "out");
  w.say("cluster", kControllerSeen, Json::object({{"boot", to_micros(w.now + 10s)}}));
  w.now += 20s;
  w.nodes("n3", "IDLE");
  EXPECT_EQ(w.did.back(), "drain n3");
  EXPECT_EQ(w.did.size(), 6u);
  EXPECT_THAT(w.last_reason(), HasSubstr("stays out until put back"));
  EXPECT_EQ(w.stands("n3"), "out");
}

// The text for Slurm has room for why, whatever the rule says.
TEST(Flaps, ALongReasonIsCutBeforeWhyItStays) {
  Flapping w;
  const std::string rule(300, 'x');
  for (int i = 0; i < 3; ++i) w.flap(rule);
  EXPECT_EQ(w.last_reason().size(), kReasonBytes);
  EXPECT_THAT(w.last_reason(), EndsWith("(3 times in 1 d: stays out until put back)"));
}

TEST(Flaps, AReplayKnowsThem) {
  Flapping w;
  for (int i = 0; i < 3; ++i) w.flap();
  State again;
  cluster::Cluster seen_again;
  for (Event event : w.log) {
    raise(again, event);
    cluster::apply(seen_again, event);
    (void)apply(again, seen_again.view, event);
  }
  EXPECT_EQ(canonical_text(again), canonical_text(w.state));
  EXPECT_EQ(decide(seen_again, again, w.policy, "n3", w.now + 24h).commands.size(), 0u);
}

}  // namespace
}  // namespace sickbay::drain
