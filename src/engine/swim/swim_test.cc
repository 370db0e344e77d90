// SPDX-License-Identifier: Apache-2.0
// One member, message by message.  Many of them in a network: network_test.cc.
#include "engine/swim/swim.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/swim/swim_test_parts.h"

namespace sickbay::swim {
namespace {

// Member 0 of a group, whose others are this test.
struct Member {
  std::uint32_t last_random = 0;
  Random random = [this] { return ++last_random; };
  TimePoint now = kStart;
  State state;
  std::vector<Report> reports;
  std::map<SwimIndex, std::uint32_t> seq;

  explicit Member(std::size_t members, const HeardBefore& before = {}) {
    state = begin(9, members, 0, {}, now, random, before);
  }
  std::vector<SwimMessage> pass(Micros time) {
    std::vector<SwimMessage> sent;
    for (const TimePoint end = now + time; now < end;) {
      now += 50ms;
      keep(tick(state, now, random), sent);
    }
    return sent;
  }
  std::vector<SwimMessage> hear(SwimMessage m) {
    std::vector<SwimMessage> sent;
    keep(receive(state, m, now, random), sent);
    return sent;
  }
  SwimMessage from(SwimIndex i, SwimKind kind, std::uint32_t nonce = 1, std::uint32_t run = 5) {
    SwimMessage m;
    m.kind = kind, m.group = 9, m.from = i, m.to = 0, m.run = run, m.seq = ++seq[i], m.nonce = nonce;
    return m;
  }
  // Answers what it sends as somebody would: all but `dead` live.
  void live(Micros time, std::set<SwimIndex> dead) {
    for (const TimePoint end = now + time; now < end;)
      for (const SwimMessage& m : pass(50ms)) {
        if (dead.contains(m.to)) continue;
        if (m.kind == SwimKind::ping) hear(from(m.to, SwimKind::ack, m.nonce));
        if (m.kind != SwimKind::ask) continue;
        SwimMessage told = from(m.to, SwimKind::told, m.nonce);
        told.about = m.about, told.heard = !dead.contains(m.about);
        hear(told);
      }
  }
  void keep(Actions actions, std::vector<SwimMessage>& sent) {
    reports.insert(reports.end(), actions.reports.begin(), actions.reports.end());
    sent.insert(sent.end(), actions.send.begin(), actions.send.end());
  }
};

TEST(Swim, AnswersAPingWithItsNonce) {
  Member m(3);
  const auto sent = m.hear(m.from(2, SwimKind::ping, 77));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].kind, SwimKind::ack);
  EXPECT_EQ(sent[0].to, 2);
  EXPECT_EQ(sent[0].nonce, 77u);
}

TEST(Swim, HearsNothingThatIsNotForItOrOfNobody) {
  Member m(3);
  SwimMessage other = m.from(1, SwimKind::ping);
  other.group = 8;
  EXPECT_TRUE(m.hear(other).empty());
  other = m.from(1, SwimKind::ping), other.to = 2;
  EXPECT_TRUE(m.hear(other).empty());
  EXPECT_TRUE(m.hear(m.from(3, SwimKind::ping)).empty()) << "no such member";
  EXPECT_TRUE(m.hear(m.from(0, SwimKind::ping)).empty()) << "itself";
}

TEST(Swim, TellsOfWhoFallsSilentAndWhoElseSaysSo) {
  Member m(4);
  m.live(3s, {});
  EXPECT_TRUE(m.reports.empty());
  m.live(4s, {2});
  ASSERT_FALSE(m.reports.empty());
  EXPECT_EQ(m.reports[0].member, 2);
  EXPECT_TRUE(m.reports[0].silent);
  EXPECT_EQ(m.reports[0].seen_by, (std::vector<SwimIndex>{1, 3}));
  const auto before = m.reports.size();
  m.live(5s, {2});
  EXPECT_GT(m.reports.size(), before) << "it is told again while it lasts";
  m.live(4s, {});
  EXPECT_FALSE(m.reports.back().silent) << "and taken back";
}

TEST(Swim, TellsNothingOfWhoWasNeverHeard) {
  Member m(4);
  m.live(20s, {2});
  EXPECT_TRUE(m.reports.empty());
}

// It was heard in the group before, and died while this one began.
TEST(Swim, TellsOfWhoWasHeardInTheGroupBefore) {
  Member m(4, {{1, 100ms}, {3, 300ms}});
  m.live(4s, {2, 3});
  ASSERT_FALSE(m.reports.empty());
  EXPECT_EQ(m.reports[0].member, 3);
  EXPECT_GE(m.reports[0].silent_for, 2300ms);
  EXPECT_TRUE(std::ranges::none_of(m.reports, [](const Report& r) { return r.member == 2; }));
  EXPECT_EQ(heard(m.state).size(), 2U);
  EXPECT_GE(heard(m.state).at(3), 4s);
}

// What it says first in the new group is a sign of life, whatever run it was of before.
TEST(Swim, WhoWasHeardInTheGroupBeforeIsHeardAtOnce) {
  Member m(3, {{1, 100ms}});
  m.pass(2s);
  EXPECT_EQ(m.state.peers[1].standing, SwimStanding::suspect);
  m.hear(m.from(1, SwimKind::ping));
  EXPECT_EQ(m.state.peers[1].standing, SwimStanding::alive);
}

TEST(Swim, AccusesNobodyWhereNobodyIsHeard) {
  Member m(4);
  m.live(3s, {});
  m.live(20s, {1, 2, 3});
  EXPECT_TRUE(m.reports.empty());
  EXPECT_TRUE(in_doubt(m.state));
}

TEST(Swim, TellsOfTheOtherOfTwoAlone) {
  Member m(2);
  m.live(3s, {});
  m.live(4s, {1});
  ASSERT_FALSE(m.reports.empty());
  EXPECT_TRUE(m.reports[0].seen_by.empty()) << "sickbayd must see for itself";
}

TEST(Swim, RefutesWhatIsSaidOfIt) {
  Member m(3);
  SwimMessage ping = m.from(1, SwimKind::ping);
  ping.news = {{0, 4, SwimStanding::suspect}};
  const auto sent = m.hear(ping);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].news, (std::vector<SwimNews>{{0, 5, SwimStanding::alive}}));
}

TEST(Swim, AGreaterIncarnationClearsASuspicionAndAnEqualOneDoesNot) {
  Member m(4);
  m.live(3s, {});
  m.live(1200ms, {2});
  ASSERT_TRUE(m.state.peers[2].accused);
  SwimMessage ping = m.from(1, SwimKind::ping);
  ping.news = {{2, 0, SwimStanding::alive}};
  m.hear(ping);
  EXPECT_TRUE(m.state.peers[2].accused);
  ping = m.from(1, SwimKind::ping);
  ping.news = {{2, 1, SwimStanding::alive}};
  m.hear(ping);
  EXPECT_FALSE(m.state.peers[2].accused);
}

TEST(Swim, AnOldMessageSentAgainIsNoSignOfLife) {
  Member m(4);
  m.live(2s, {});
  const SwimMessage old = m.from(2, SwimKind::ping);
  m.hear(old);
  m.live(1200ms, {2});
  ASSERT_TRUE(m.state.peers[2].accused);
  m.hear(old);
  EXPECT_TRUE(m.state.peers[2].accused);
  SwimMessage other_run = old;
  other_run.run = 4, other_run.seq = 1000;
  m.hear(other_run);
  EXPECT_TRUE(m.state.peers[2].accused);
  m.hear(m.from(2, SwimKind::ping));
  EXPECT_FALSE(m.state.peers[2].accused) << "a new one is";
}

TEST(Swim, TimeInWhichItDidNotRunDoesNotCount) {
  Member m(4);
  m.live(3s, {});
  m.live(1200ms, {2});
  ASSERT_TRUE(m.state.peers[2].accused);
  m.now += 1h;  // a pause, or a step of its clock
  m.pass(50ms);
  EXPECT_TRUE(m.reports.empty());
  m.now -= 2h;
  m.pass(50ms);
  EXPECT_TRUE(m.reports.empty());
}

TEST(Swim, WhoIsAskedForAThirdSaysWhatItHeard) {
  Member m(3);
  m.live(2s, {});
  SwimMessage ask = m.from(1, SwimKind::ask, 50);
  ask.about = 2;
  auto sent = m.hear(ask);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].kind, SwimKind::ping);
  EXPECT_EQ(sent[0].to, 2);
  sent = m.hear(m.from(2, SwimKind::ack, 50));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].kind, SwimKind::told);
  EXPECT_TRUE(sent[0].heard);
  EXPECT_EQ(sent[0].nonce, 50u);
}

TEST(Swim, TheSameGivesTheSame) {
  const auto story = [] {
    Network n(20, 4711);
    n.loss = 0.1;
    n.later(4s, [&n] { n.kill(3); });
    n.run(12s);
    return std::tuple(n.messages, n.bytes, n.told.size());
  };
  EXPECT_EQ(story(), story());
}

}  // namespace
}  // namespace sickbay::swim
