// SPDX-License-Identifier: Apache-2.0
#include "engine/succession/candidate.h"

#include <gtest/gtest.h>

#include "engine/succession/witness.h"

namespace sickbay::succession {
namespace {

using namespace std::chrono_literals;

// One sickbayd and three witnesses, each of which is asked when the test says so.
struct Bench {
  explicit Bench(bool prompt = true, std::int64_t journal_term = 0)
      : state(begin("head1", 3, timing, journal_term, prompt, now)) {}

  Timing timing;
  Micros now{100s};
  State state;
  std::vector<Witness> witnesses{3, Witness({}, 0s)};
  std::vector<std::pair<std::size_t, LeaseAsk>> asked;  ///< by the last call
  Micros wake_at{0};
  Random random = [] { return 0U; };

  void took(Actions actions) {
    asked = std::move(actions.send);
    wake_at = actions.wake_at;
  }
  void ticks() { took(tick(state, now, random)); }
  /// The `witness` answers what was asked of it in `from`.
  LeaseAnswer answer_of(std::size_t witness, const std::vector<std::pair<std::size_t, LeaseAsk>>& from) {
    for (const auto& [to, ask] : from)
      if (to == witness) return witnesses[witness].take(ask, now);
    return {};
  }
  void hears(std::size_t witness, const LeaseAnswer& answer) {
    took(receive(state, witness, answer, now, random));
  }
  /// Two of the three answer each round until it is active.
  void becomes_active() {
    ticks();
    for (int round = 0; round < 2; ++round) {
      const auto from = asked;
      hears(0, answer_of(0, from));
      hears(1, answer_of(1, from));
    }
    ASSERT_EQ(state.role, Role::active);
  }
};

TEST(Candidate, TheFirstAsksAtOnceAndTheOtherWhenAllIsSilent) {
  Bench first;
  first.ticks();
  EXPECT_EQ(first.state.role, Role::looking);
  EXPECT_EQ(first.asked.size(), 3U);
  EXPECT_EQ(first.wake_at, first.now + first.timing.answer);

  Bench other(false);
  other.ticks();
  EXPECT_EQ(other.state.role, Role::waiting);
  EXPECT_EQ(other.wake_at, other.now + other.timing.silence);
  other.now += 5s;
  heard_active(other.state, 3, other.now);
  other.now += other.timing.silence - 1us;
  other.ticks();
  EXPECT_TRUE(other.asked.empty());
  other.now += 1us;
  other.ticks();
  ASSERT_EQ(other.asked.size(), 3U);
  EXPECT_EQ(other.asked[0].second.term, 4) << "higher than any that was heard of";
}

TEST(Candidate, MayActForLessThanTheWitnessesCount) {
  Bench b;
  EXPECT_FALSE(may_act(b.state, b.now));
  b.becomes_active();
  // By the short grants of the beginning, until those of the first renewal are there.
  EXPECT_EQ(lease_until(b.state), b.now + 4900ms);
  const auto renewal = b.asked;
  ASSERT_EQ(renewal.size(), 3U);
  b.now += 1s;
  b.hears(2, b.answer_of(2, renewal));
  EXPECT_EQ(lease_until(b.state), b.now - 1s + 4900ms) << "one is no majority";
  b.hears(0, b.answer_of(0, renewal));
  EXPECT_EQ(lease_until(b.state), b.now - 1s + 29'400ms) << "counted from the ask";
  EXPECT_TRUE(may_act(b.state, b.now, 28s));
  EXPECT_FALSE(may_act(b.state, b.now, 28'400ms));
  b.now += 28'400ms;
  EXPECT_FALSE(may_act(b.state, b.now)) << "over, whatever tick() has seen of it";
  b.ticks();
  EXPECT_EQ(b.state.role, Role::waiting);
}

TEST(Candidate, AnswersThatComeLateOrTwiceGiveNothing) {
  Bench b;
  b.ticks();
  const auto looks = b.asked;
  const LeaseAnswer yes = b.answer_of(0, looks);
  b.hears(0, yes);
  b.hears(0, yes);
  EXPECT_EQ(b.state.role, Role::looking) << "one that answers twice is one";
  b.hears(2, yes);
  EXPECT_EQ(b.state.role, Role::looking) << "nor can it answer for another";
  b.now += b.timing.answer;
  b.ticks();
  EXPECT_EQ(b.state.role, Role::waiting);
  b.hears(1, b.answer_of(1, looks));
  EXPECT_EQ(b.state.role, Role::waiting) << "the round is over";
  b.now += b.timing.pause;
  b.becomes_active();
}

TEST(Candidate, BeginsOnlyWithAllThatWasAcknowledged) {
  for (const auto& [sole, journal_term, begins] :
       {std::tuple{SoleWord{4, 2, ""}, 4, true}, std::tuple{SoleWord{4, 2, "head1"}, 4, true},
        std::tuple{SoleWord{4, 2, "head2"}, 4, false},
        // Set up anew, under the same name.
        std::tuple{SoleWord{4, 2, "head1"}, 0, false}, std::tuple{SoleWord{4, 2, ""}, 3, false}}) {
    Bench b(true, journal_term);
    // One of them knows, and it is not asked first.
    b.witnesses[1] = Witness({4, "head2", sole}, 0s);
    b.ticks();
    const auto looks = b.asked;
    b.hears(0, b.answer_of(0, looks));
    b.hears(1, b.answer_of(1, looks));
    // (A witness that knows of a higher term refuses a look at a lower one.)
    for (int round = 0; round < 3 && b.state.role != Role::active && !b.state.lacks; ++round) {
      b.now += 3s;
      b.ticks();
      for (int step = 0; step < 2; ++step) {
        const auto from = b.asked;
        b.hears(0, b.answer_of(0, from));
        b.hears(1, b.answer_of(1, from));
      }
    }
    EXPECT_EQ(b.state.role == Role::active, begins) << sole.name << " " << journal_term;
    EXPECT_EQ(b.state.lacks, !begins);
    if (begins) continue;
    allow_loss(b.state);
    b.now += 3s;
    b.becomes_active();
  }
}

TEST(Candidate, SaysWhoHasAllWhenItsTermIsInItsJournal) {
  Bench b;
  b.becomes_active();
  EXPECT_EQ(b.asked[0].second.sole.term, 0) << "nothing yet";
  EXPECT_FALSE(is_sole_known(b.state));
  b.took(say_sole(b.state, true, b.now));
  const SoleWord alone{b.state.term, 1, "head1"};
  const auto asks = b.asked;
  EXPECT_EQ(asks[0].second.sole, alone);
  b.hears(0, b.answer_of(0, asks));
  EXPECT_FALSE(is_sole_known(b.state));
  b.hears(2, b.answer_of(2, asks));
  EXPECT_TRUE(is_sole_known(b.state));
  EXPECT_EQ(b.witnesses[0].record().sole, alone);

  b.took(say_sole(b.state, false, b.now));
  EXPECT_FALSE(is_sole_known(b.state)) << "not this word";
  EXPECT_EQ(b.asked[0].second.sole, (SoleWord{b.state.term, 2, ""}));
}

TEST(Candidate, StepsDownForTheOther) {
  Bench b;
  b.becomes_active();
  step_down(b.state, b.now);
  EXPECT_FALSE(may_act(b.state, b.now));
  b.now += 2 * b.timing.lease - 1us;
  b.ticks();
  EXPECT_TRUE(b.asked.empty());
  b.now += 1us;
  b.ticks();
  EXPECT_EQ(b.asked.size(), 3U) << "nobody came";
}

}  // namespace
}  // namespace sickbay::succession
