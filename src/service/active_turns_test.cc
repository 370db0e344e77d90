// SPDX-License-Identifier: Apache-2.0
// Whose turn it is, and that the bound holds whatever agents, connections and sickbayd do.
#include "service/active_turns.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

namespace sickbay {
namespace {

using enum ActiveWord;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

const TimePoint kStart = from_unix_seconds(1'790'000'000);
const TimePoint kReady = kStart + ActiveTurns::kLease;  // from when on it gives leave

TEST(ActiveTurns, GivesSoManyPlacesInTheOrderOfComing) {
  ActiveTurns turns(2, kStart);
  for (const char* node : {"n3", "n1", "n2", "n4"}) turns.hear(node, waits, kReady);
  EXPECT_THAT(turns.give(kReady), ElementsAre("n3", "n1"));
  EXPECT_THAT(turns.give(kReady), IsEmpty());
  EXPECT_EQ(turns.tell("n3", kReady), Micros(ActiveTurns::kLease));
  EXPECT_EQ(turns.tell("n2", kReady), Micros(0));
  turns.hear("n3", holds, kReady + seconds(1));
  turns.hear("n3", none, kReady + seconds(9));
  EXPECT_THAT(turns.give(kReady + seconds(9)), ElementsAre("n2"));
}

TEST(ActiveTurns, LeaveThatNobodyRenewsEndsByItself) {
  ActiveTurns turns(1, kStart);
  turns.hear("n1", waits, kReady);
  EXPECT_THAT(turns.give(kReady), ElementsAre("n1"));
  turns.hear("n1", holds, kReady + minutes(1));
  turns.hear("n2", waits, kReady + minutes(2));
  EXPECT_EQ(turns.next(kReady + minutes(2)), kReady + minutes(1) + ActiveTurns::kLease);
  TimePoint at = kReady + minutes(2);
  for (; turns.give(at).empty(); at += seconds(30)) {
    ASSERT_LT(at, kReady + minutes(10));
    turns.still_there("n2", at);
  }
  EXPECT_GE(at, kReady + minutes(1) + ActiveTurns::kLease);
  EXPECT_EQ(turns.view("n1").state, "");
  EXPECT_EQ(turns.view("n2").state, "holds");
}

TEST(ActiveTurns, AfterAStartNoneIsGivenUntilWhatWasLentBeforeIsOverOrKnown) {
  ActiveTurns turns(2, kStart);
  turns.hear("n1", holds, kStart + seconds(20));  // lent by the sickbayd before
  turns.hear("n2", waits, kStart + seconds(20));
  turns.hear("n3", waits, kStart + seconds(20));
  EXPECT_THAT(turns.give(kReady - seconds(1)), IsEmpty());
  EXPECT_EQ(turns.next(kStart + seconds(20)), kReady);
  turns.hear("n1", holds, kReady - seconds(1));
  for (const char* node : {"n2", "n3"}) turns.still_there(node, kReady - seconds(1));
  EXPECT_THAT(turns.give(kReady), ElementsAre("n2")) << "n1 counts";
  turns.settle(kReady);
  EXPECT_THAT(turns.give(kReady), IsEmpty()) << "it makes no place";
  ActiveTurns other(1, kStart);
  other.hear("n1", waits, kStart);
  other.settle(kStart);
  EXPECT_THAT(other.give(kStart), ElementsAre("n1")) << "nobody else can have it";
}

TEST(ActiveTurns, AnAnswerThatWasLostIsSaidAgainAndLastsNoLonger) {
  ActiveTurns turns(1, kStart);
  turns.hear("n1", waits, kReady);
  turns.hear("n2", waits, kReady);
  EXPECT_THAT(turns.give(kReady), ElementsAre("n1"));
  EXPECT_TRUE(turns.is_news("n1", kReady));
  turns.hear("n1", waits, kReady + minutes(1));
  EXPECT_THAT(turns.give(kReady + minutes(1)), IsEmpty());
  EXPECT_TRUE(turns.is_news("n1", kReady + minutes(1)));
  EXPECT_EQ(turns.tell("n1", kReady + minutes(1)), Micros(ActiveTurns::kLease - minutes(1)));
  turns.hear("n1", holds, kReady + minutes(1));
  EXPECT_FALSE(turns.is_news("n1", kReady + minutes(1)));
  // Who has used it and waits again has given it back, and is behind the others.
  turns.hear("n2", waits, kReady + minutes(2));
  turns.hear("n1", waits, kReady + minutes(2));
  EXPECT_THAT(turns.give(kReady + minutes(2)), ElementsAre("n2"));
}

TEST(ActiveTurns, WhoCannotBeginIsPassedOverAndKeepsItsPlace) {
  ActiveTurns turns(1, kStart);
  turns.hear("n1", waits, kReady);
  turns.hear("n2", waits, kReady + seconds(1));
  turns.hear("n3", waits, kReady + seconds(2));
  turns.hear("n1", later, kReady + seconds(3));  // a job has come
  EXPECT_THAT(turns.give(kReady + seconds(3)), ElementsAre("n2"));
  turns.hear("n2", holds, kReady + seconds(3));
  turns.hear("n1", waits, kReady + seconds(4));
  turns.hear("n2", none, kReady + seconds(5));
  EXPECT_THAT(turns.give(kReady + seconds(5)), ElementsAre("n1")) << "before n3, which came later";
  // One that is given leave just when a job comes gives it back, and that was no turn.
  turns.hear("n1", later, kReady + seconds(6));
  EXPECT_THAT(turns.give(kReady + seconds(6)), ElementsAre("n3"));
  turns.hear("n4", waits, kReady + seconds(7));
  turns.hear("n1", waits, kReady + seconds(7));
  turns.hear("n3", holds, kReady + seconds(7));
  turns.hear("n3", none, kReady + seconds(8));
  EXPECT_THAT(turns.give(kReady + seconds(8)), ElementsAre("n1"));
}

TEST(ActiveTurns, WhoIsSilentGetsNoneAndIsForgottenInTheEnd) {
  ActiveTurns turns(1, kStart);
  turns.hear("n1", waits, kReady);
  turns.hear("n2", holds, kReady);
  turns.hear("n3", waits, kReady);
  turns.hear("n3", waits, kReady + minutes(1));
  turns.hear("n2", none, kReady + minutes(1));
  EXPECT_THAT(turns.give(kReady + minutes(1)), ElementsAre("n3")) << "n1 has not been heard for a minute";
  EXPECT_EQ(turns.view("n1").state, "later");
  turns.hear("n1", waits, kReady + minutes(2));
  EXPECT_EQ(turns.view("n1").since, kReady) << "it has kept its place";
  (void)turns.give(kReady + minutes(2) + ActiveTurns::kForget);
  EXPECT_EQ(turns.waiting(), 0u);
}

TEST(ActiveTurns, OrdersAndPeriodsTakeTurns) {
  ActiveTurns turns(1, kStart);
  for (int i = 1; i <= 3; ++i) turns.hear(fmt::format("p{}", i), waits, kReady);
  for (int i = 1; i <= 3; ++i) turns.hear(fmt::format("o{}", i), ordered, kReady);
  std::vector<std::string> order;
  for (int i = 0; i < 6; ++i) {
    const auto given = turns.give(kReady);
    ASSERT_EQ(given.size(), 1u);
    order.push_back(given[0]);
    turns.hear(given[0], holds, kReady);
    turns.hear(given[0], none, kReady);
  }
  EXPECT_THAT(order, ElementsAre("p1", "o1", "p2", "o2", "p3", "o3"));
}

TEST(ActiveTurns, WhoHadNoTurnInOneNightGoesFirstInTheNext) {
  ActiveTurns turns(1, kStart);
  for (const char* node : {"n1", "n2", "n3"}) turns.hear(node, waits, kReady);
  EXPECT_THAT(turns.give(kReady), ElementsAre("n1"));
  turns.hear("n1", holds, kReady);
  for (const char* node : {"n1", "n2", "n3"})
    turns.hear(node, none, kReady + minutes(1));  // its hours are over
  const TimePoint next = kReady + std::chrono::hours(24);
  for (const char* node : {"n1", "n2", "n3"}) turns.hear(node, waits, next);
  EXPECT_THAT(turns.give(next), ElementsAre("n2"));
}

TEST(ActiveTurns, LeaveOutOfTurnIsCounted) {
  ActiveTurns turns(1, kStart);
  turns.lend("n1", kStart);  // also right after a start: somebody waits for the answer
  EXPECT_TRUE(turns.is_news("n1", kStart));
  turns.hear("n1", holds, kReady);
  turns.hear("n2", waits, kReady);
  EXPECT_THAT(turns.give(kReady), IsEmpty());
  turns.lend("n2", kReady);
  EXPECT_EQ(turns.holding(), 2u) << "nobody is kept waiting who looks on";
  EXPECT_EQ(turns.waiting(), 0u);
}

TEST(ActiveTurns, AClockThatIsSetBackKeepsNobodyWaitingForLong) {
  ActiveTurns turns(1, kStart);
  turns.hear("n1", waits, kReady);
  EXPECT_THAT(turns.give(kReady), ElementsAre("n1"));
  turns.hear("n1", holds, kReady);
  const TimePoint back = kStart - std::chrono::hours(3);
  (void)turns.give(back);
  turns.hear("n2", waits, back + ActiveTurns::kLease);
  EXPECT_THAT(turns.give(back + ActiveTurns::kLease), ElementsAre("n2"));
}

// Agents that ask, run, die, come back and lose answers; a sickbayd that is started anew.  What an agent
// believes is what counts: it has leave from the answer on, until so long after its question as it was told.
class World {
 public:
  World(unsigned seed, int nodes, int most)
      : random_(seed), most_(most), turns_(std::in_place, most, kStart) {
    for (int i = 0; i < nodes; ++i) agents_[fmt::format("n{}", i)].asks = now_ + seconds(below(30));
  }
  void step() {
    now_ += seconds(1);
    if (below(4000) == 0) {
      turns_.emplace(most_, now_);
      ++restarts;
      for (auto& [node, agent] : agents_) agent.passed_by.clear(), agent.poll_open = false;
    }
    give();
    for (auto& [node, agent] : agents_) {
      if (agent.down_until > now_) continue;
      live(agent);
      if (now_ >= agent.asks) ask(node, agent);
    }
    int use = 0;
    for (const auto& [node, agent] : agents_) use += uses(agent) ? 1 : 0;
    most_used = std::max(most_used, use);
    EXPECT_LE(use, most_) << "over the bound";
  }
  int most_used = 0, turns = 0, restarts = 0, lost = 0;
  std::string starved;

 private:
  struct Agent {
    bool wants = false, ready = true, by_order = false, poll_open = false;
    TimePoint asked = kNoTime, asks = kNoTime, until = kNoTime, runs_until = kNoTime, down_until = kNoTime;
    ActiveWord said = none;
    std::map<std::string, int> passed_by;  // turns of others of its line while it could have begun
    int given = 0, used = 0;               // the number of its last leave, and of that which it used
  };
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool uses(const Agent& a) const { return now_ < a.until && now_ < a.runs_until; }

  void live(Agent& a) {
    if (!a.wants && !uses(a) && below(60) == 0) a.wants = true, a.by_order = below(5) == 0;
    if (below(200) == 0) {
      a.ready = !a.ready;
      a.passed_by.clear();
    }
    if (below(1500) == 0) {  // it is killed, and what it ran with it
      a.down_until = now_ + seconds(below(900));
      a.until = a.runs_until = kNoTime;
      a.wants = a.poll_open = false;
      a.passed_by.clear();
      a.asks = a.down_until;
    }
  }
  void ask(const std::string& node, Agent& a) {
    if (a.poll_open) return finish(node, a);  // 30 s are over
    a.asked = now_;
    a.said = uses(a) ? holds : !a.wants ? none : !a.ready ? later : a.by_order ? ordered : waits;
    turns_->hear(node, a.said, now_);
    a.poll_open = true;
    a.asks = now_ + seconds(30);
    if (a.said != waits && a.said != ordered) a.passed_by.clear();
    give();
    if (turns_->is_news(node, now_) && a.poll_open) finish(node, a);
  }
  void give() {
    for (const std::string& node : turns_->give(now_)) {
      Agent& a = agents_[node];
      a.given = ++turns;
      a.passed_by.clear();
      if (a.poll_open && a.down_until <= now_) finish(node, a);
    }
  }
  // (Leave that is given back unused is no turn, nor is one that is used twice since its agent was killed.)
  void count_turn(const std::string& node, Agent& a) {
    if (std::exchange(a.used, a.given) == a.given) return;
    for (auto& [other, b] : agents_)
      if (other != node && b.said == a.said && b.poll_open && b.down_until <= now_ && ++b.passed_by[node] > 1)
        starved = fmt::format("{} was passed by {} twice", other, node);
  }
  void finish(const std::string& node, Agent& a) {
    a.poll_open = false;
    turns_->still_there(node, now_);
    const Micros lent = turns_->tell(node, now_);
    a.asks = now_ + seconds(below(2));
    if (below(20) == 0) {  // the answer is lost
      ++lost;
      a.asks = now_ + seconds(2 + below(40));
      return;
    }
    a.until = lent > Micros(0) ? a.asked + lent : kNoTime;
    if (lent > Micros(0) && a.said != holds && a.wants && a.ready) {
      a.wants = false;
      count_turn(node, a);
      a.runs_until = now_ + seconds(1 + below(400));
    }
  }

  std::mt19937 random_;
  const int most_;
  std::optional<ActiveTurns> turns_;
  TimePoint now_ = kStart;
  std::map<std::string, Agent> agents_;
};

TEST(ActiveTurns, NeverLendToTooManyAndLetNobodyStarve) {
  int turns = 0, full = 0, restarts = 0, lost = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const int most = 1 + static_cast<int>(seed % 5);
    World world(seed, 12, most);
    for (int second = 0; second < 3 * 3600 && !testing::Test::HasFailure(); ++second) {
      world.step();
      ASSERT_EQ(world.starved, "") << "seed " << seed;
    }
    if (HasFailure()) FAIL() << "seed " << seed;
    turns += world.turns;
    full += world.most_used == most ? 1 : 0;
    restarts += world.restarts;
    lost += world.lost;
  }
  // What the play reaches.
  EXPECT_GT(turns, 1000);
  EXPECT_EQ(full, 40) << "the bound is used";
  EXPECT_GT(restarts, 40);
  EXPECT_GT(lost, 1000);
}

}  // namespace
}  // namespace sickbay
