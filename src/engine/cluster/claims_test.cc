// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/claims.h"

#include <gmock/gmock.h>

#include "engine/cluster/cluster_test_parts.h"

namespace sickbay::cluster {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Claims, OneAtATimeMayActOnAThing) {
  Scene s;
  EXPECT_EQ(s.cluster.claims.find("node:n3", s.now), nullptr);
  s.claim("node:n3", "drain", "node:n3");
  const Claim* claim = s.cluster.claims.find("node:n3", s.now);
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(claim->on, "node:n3");
  EXPECT_EQ(claim->holder, "drain");
  EXPECT_EQ(claim->by, "node:n3");
  EXPECT_EQ(claim->reason, "a test");
  EXPECT_EQ(claim->since, kStart) << "the journal's stamp";
  EXPECT_EQ(claim->until, kNever);
  EXPECT_TRUE(claim->out);
  EXPECT_TRUE(s.cluster.claims.holds("drain", "node:n3", "node:n3", s.now));
  EXPECT_FALSE(s.cluster.claims.holds("check", "node:n3", "node:n3", s.now)) << "another engine";
  EXPECT_FALSE(s.cluster.claims.holds("drain", "c7", "node:n3", s.now)) << "for another subject";
  EXPECT_FALSE(s.cluster.claims.holds("drain", "node:n3", "node:n4", s.now));
  EXPECT_THAT(s.cluster.claims.out(), ElementsAre("n3"));
}

TEST(Claims, TheEventHasAllOfIt) {
  Scene s;
  const Claim claim{.on = "job:17",
                    .holder = "place",
                    .by = "c7",
                    .reason = "it is moved",
                    .out = false,
                    .until = kStart + 1h,
                    .since = kStart};
  s.take(Claims::claimed(claim));
  const Claim& taken = s.cluster.claims.all().at("job:17");
  EXPECT_EQ(taken.to_json(), claim.to_json());
  EXPECT_EQ(taken.on, claim.on);
  EXPECT_EQ(taken.since, claim.since);
  EXPECT_EQ(taken.until, kStart + 1h);
  EXPECT_THAT(s.cluster.claims.out(), IsEmpty()) << "a job is no node";
}

TEST(Claims, TheHolderMayRenewIt) {
  Scene s;
  s.claim("node:n3", "drain", "node:n3", true);
  s.now += 1h;
  s.claim("node:n3", "drain", "node:n3", false, s.now + 1min);
  EXPECT_EQ(s.cluster.claims.all().size(), 1u);
  EXPECT_EQ(s.cluster.claims.find("node:n3", s.now)->since, s.now);
  EXPECT_THAT(s.cluster.claims.out(), IsEmpty()) << "it does not keep the node out any more";
  s.claim("node:n3", "drain", "node:n3", true);
  EXPECT_THAT(s.cluster.claims.out(), ElementsAre("n3"));
}

TEST(Claims, OnlyTheHolderReleasesIt) {
  Scene s;
  s.claim("node:n3", "drain", "node:n3");
  s.take(Claims::released("node:n3", "check", "not mine"));
  s.take(Claims::released("node:n4", "drain", "never held"));
  EXPECT_TRUE(s.cluster.claims.holds("drain", "node:n3", "node:n3", s.now));
  s.take(Claims::released("node:n3", "drain", "it is back"));
  EXPECT_EQ(s.cluster.claims.find("node:n3", s.now), nullptr);
  EXPECT_THAT(s.cluster.claims.out(), IsEmpty());

  s.claim("node:n3", "check", "node:n3");
  s.take(Claims::released("node:n3", "drain", "a late word of who had it before"));
  EXPECT_TRUE(s.cluster.claims.holds("check", "node:n3", "node:n3", s.now));
  EXPECT_THAT(s.cluster.claims.out(), ElementsAre("n3"));
}

TEST(Claims, EndWithTheSubjectThatTheyServe) {
  for (const std::string_view closing : kClosingKinds) {
    Scene s;
    s.claim("node:n1", "replace", "c7");
    s.claim("node:n2", "replace", "c8");
    s.claim("job:17", "replace", "c7", false);
    s.claim("node:c7", "drain", "node:c7");  // a node may be called as a case is
    s.say("c7", closing);
    EXPECT_EQ(s.cluster.claims.all().size(), 2u) << closing;
    EXPECT_THAT(s.cluster.claims.out(), ElementsAre("c7", "n2")) << closing;
  }
}

TEST(Claims, EndWithTheNode) {
  Scene s;
  s.see("n[1-2]", "IDLE");
  s.claim("node:n1", "drain", "node:n1");
  s.claim("node:n2", "drain", "node:n2");
  s.claim("job:17", "replace", "c7", false);
  s.see("n1", "DOWN");
  EXPECT_THAT(s.cluster.claims.out(), ElementsAre("n1", "n2")) << "a node that is down is there";
  s.lose("n1");
  EXPECT_EQ(s.cluster.claims.find("node:n1", s.now), nullptr);
  EXPECT_THAT(s.cluster.claims.out(), ElementsAre("n2"));
  EXPECT_NE(s.cluster.claims.find("job:17", s.now), nullptr);
  s.see("n1", "IDLE");
  EXPECT_EQ(s.cluster.claims.find("node:n1", s.now), nullptr) << "what comes back may be another machine";
}

TEST(Claims, EndWithTheirTime) {
  Scene s;
  s.claim("node:n3", "check", "node:n3", true, kStart + 1h);
  const Claims& claims = s.cluster.claims;
  EXPECT_NE(claims.find("node:n3", kStart + 1h - Micros(1)), nullptr);
  EXPECT_EQ(claims.find("node:n3", kStart + 1h), nullptr);
  EXPECT_FALSE(claims.holds("check", "node:n3", "node:n3", kStart + 1h));
  EXPECT_TRUE(claims.keeps_out("n3", kStart));
  EXPECT_FALSE(claims.keeps_out("n3", kStart + 1h));
  EXPECT_FALSE(claims.keeps_out("n4", kStart));
  // Another may then have it; its former holder's release comes too late.
  s.now += 2h;
  s.claim("node:n3", "drain", "node:n3", true, kStart + 9h);
  s.take(Claims::released("node:n3", "check", "done"));
  EXPECT_TRUE(claims.holds("drain", "node:n3", "node:n3", s.now));
  // One that has passed when it is written holds nothing.
  s.claim("node:n4", "drain", "node:n4", true, s.now);
  EXPECT_EQ(claims.find("node:n4", s.now), nullptr);
}

TEST(Claims, TheTextDiffersWhenAnythingDiffers) {
  std::set<std::string> texts;
  const auto with = [&](Claim claim, TimePoint at) {
    Scene s;
    s.now = at;
    s.take(Claims::claimed(claim));
    return canonical_text(s.cluster.claims);
  };
  const Claim claim{.on = "node:n3", .holder = "drain", .by = "c7", .reason = "disk", .out = true};
  const auto changed = [&](auto change) {
    Claim other = claim;
    change(other);
    texts.insert(with(other, kStart));
  };
  changed([](Claim&) {});
  changed([](Claim& c) { c.on = "node:n4"; });
  changed([](Claim& c) { c.holder = "check"; });
  changed([](Claim& c) { c.by = "c8"; });
  changed([](Claim& c) { c.reason = "fan"; });
  changed([](Claim& c) { c.out = false; });
  changed([](Claim& c) { c.until = kStart + 1h; });
  texts.insert(with(claim, kStart + 1s));
  EXPECT_EQ(texts.size(), 8u);
  EXPECT_EQ(with(claim, kStart), with(claim, kStart));
}

}  // namespace
}  // namespace sickbay::cluster
