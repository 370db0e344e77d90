// SPDX-License-Identifier: Apache-2.0
// What nobody answers: commands while Slurm is away, looks that were made before the answer came, and
// findings of which nobody wants to be told.
#include <gmock/gmock.h>

#include "engine/drain/drain_world.h"

namespace sickbay::drain {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Forty nodes, and n3 has a fault while Slurm answers nothing of `silent`.
World with_a_fault(std::set<std::string> silent) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.silent = std::move(silent);
  w.finding(1, "n3", "disk");
  return w;
}

TEST(DrainUnanswered, ADrainThatSlurmDidNotAnswerIsWantedStill) {
  World w = with_a_fault({"drain n3"});
  EXPECT_EQ(w.stands("n3"), "leaving") << "not refused: nobody said no";
  w.pass(kSayAgain - 1s);
  EXPECT_THAT(w.did, ElementsAre("drain n3")) << "at a pace";
  w.pass(2s);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n3"));
  EXPECT_TRUE(w.cluster.claims.out().contains("n3")) << "it may be out";
  w.silent.clear();
  w.pass(kSayAgain);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n3", "drain n3"));
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_THAT(w.intended, SizeIs(3)) << "each under a key of its own";
  EXPECT_THAT(w.cluster.breaker.partitions().at("batch").left, SizeIs(1)) << "it left once";
}

TEST(DrainUnanswered, ALiftThatSlurmDidNotAnswerIsWantedStill) {
  World w = with_a_fault({"undrain n3"});
  w.finding(2, "n3", "disk", "ok", "none");
  w.pass(601s);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "undrain n3"));
  EXPECT_EQ(w.stands("n3"), "returning");
  w.silent.clear();
  w.pass(kSayAgain);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "undrain n3", "undrain n3"));
  EXPECT_EQ(w.stands("n3"), "in");
  EXPECT_THAT(w.cluster.claims.all(), IsEmpty());
}

TEST(DrainUnanswered, WhatIsNotWantedAnyMoreIsTakenBack) {
  // The drain may have been set all the same.
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.silent = {"drain n3"};
  w.takes_effect_silently = true;
  w.finding(1, "n3", "disk");
  w.finding(2, "n3", "disk", "ok", "none");
  w.pass(1h);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "undrain n3"));
  EXPECT_EQ(w.stands("n3"), "in");
  EXPECT_FALSE(w.drained("n3"));
}

TEST(DrainUnanswered, AFaultThatComesBackIsDrainedAgainAfterAnUnansweredLift) {
  World w = with_a_fault({"undrain n3"});
  w.finding(2, "n3", "disk", "ok", "none");
  w.pass(601s);
  w.finding(3, "n3", "disk");
  w.pass(kSayAgain);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "undrain n3", "drain n3"));
  EXPECT_EQ(w.stands("n3"), "out");
}

TEST(DrainUnanswered, WhoSaysNoInTheEndIsHeard) {
  World w = with_a_fault({"drain n3"});
  w.silent.clear();
  w.refusals["drain n3"] = "node n3 has the reason 'fan'";
  w.pass(24h);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n3"));
  EXPECT_EQ(w.stands("n3"), "refused");
  EXPECT_THAT(w.cluster.claims.all(), IsEmpty());
}

TEST(DrainUnanswered, ALongSilenceDoesNotLetManyLeaveAtOnce) {
  // The window of the first tries is over when Slurm is back: who leaves then is counted then.
  World w;
  w.policy.breaker.most = 2, w.policy.breaker.most_percent = 100;
  w.nodes("n[1-40]", "IDLE");
  w.silent = {"drain n1", "drain n2", "drain n3", "drain n4"};
  for (int no = 1; no <= 4; ++no) w.finding(no, "n" + std::to_string(no), "disk");
  w.pass(3h);
  w.silent.clear();
  const TimePoint back = w.now;
  w.pass(59min);
  int out = 0;
  for (const auto& [name, node] : w.state.nodes) out += node.ours;
  EXPECT_LE(out, 2) << "in the first hour after " << to_micros(back);
  w.pass(3h);
  for (const char* name : {"n1", "n2", "n3", "n4"}) EXPECT_EQ(w.stands(name), "out") << name;
}

// --- a look between a drain's intent and its end

TEST(DrainUnanswered, ALookFromBeforeTheEndOfADrainIsNotTheLastWord) {
  cluster::Cluster cluster;
  State state;
  const auto happens = [&](std::string subject, std::string_view kind, Json body) {
    Event event;
    event.at = from_unix_seconds(1'800'000'000);
    event.v = newest_version(kind);
    event.subject = std::move(subject);
    event.kind = kind;
    event.body = std::move(body);
    cluster::apply(cluster, event);
    (void)apply(state, cluster.view, event);
  };
  const auto shows = [&](const char* words) {
    happens("cluster", kNodesSeen,
            Json::object({{"groups", Json::array({Json::object({{"nodes", "n3"}, {"state", words}})})}}));
  };
  const Json body = Json::object({{"key", "node:n3.d1"}, {"verb", "drain"}});
  shows("IDLE");
  happens("node:n3", kIntent, body);
  shows("IDLE");  // asked for before Slurm had drained it
  happens("node:n3", kDone, body);
  // Somebody resumes it now.  Slurm shows it as it did, so it is told of only where it is waited for: the
  // watch tells of a node whose last look is at most this one.
  EXPECT_GE(looked_at(state).at("n3"), cluster.view.node("n3")->look);
  shows("IDLE");
  EXPECT_FALSE(state.nodes.at("n3").ours) << "who put it back knows more than we do";
}

// --- findings that nobody is told of

TEST(DrainNotices, DoNotPileUpWhereNobodyListens) {
  World w;
  w.policy.act = false;
  w.nodes("n[1-40]", "IDLE");
  constexpr int kFindings = 3 * static_cast<int>(kMostNotices);
  for (int no = 1; no <= kFindings; ++no) w.finding(no, "n3", "disk", "fault", "notify");
  EXPECT_EQ(w.state.nodes.at("n3").notices.size(), kMostNotices);
  EXPECT_TRUE(w.state.nodes.at("n3").notices.contains("f" + std::to_string(kFindings)));
  EXPECT_FALSE(w.state.nodes.at("n3").notices.contains("f200")) << "the oldest go, by number: not f99 last";
  w.policy.notify = true;  // after a restart
  w.finding(kFindings + 1, "n3", "fan", "ok", "none");
  EXPECT_EQ(w.told.size(), kMostNotices);
  EXPECT_EQ(w.state.nodes.at("n3").notices.size(), 0u);
}

}  // namespace
}  // namespace sickbay::drain
