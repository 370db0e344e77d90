// SPDX-License-Identifier: Apache-2.0
#include "engine/succession/witness.h"

#include <gtest/gtest.h>

namespace sickbay::succession {
namespace {

using namespace std::chrono_literals;

LeaseAsk ask(std::int64_t term, const char* who, Micros length = 30s) {
  return {1, false, term, who, length, {}};
}
LeaseAsk look(std::int64_t term, const char* who) { return {1, true, term, who, 30s, {}}; }

// One that has waited.
Witness waited(Witness::Record record = {}) { return Witness(std::move(record), -kLongestLease); }

TEST(Witness, GivesATermToOne) {
  Witness w = waited();
  EXPECT_TRUE(w.take(ask(1, "head1"), 1s).granted);
  const LeaseAnswer other = w.take(ask(1, "head2"), 2s);
  EXPECT_FALSE(other.granted);
  EXPECT_EQ(other.term, 1);
  EXPECT_EQ(other.who, "head1");
  EXPECT_EQ(other.left, 29s);
  EXPECT_FALSE(w.take(ask(1, "head2"), 100s).granted) << "also when it has run out";
}

TEST(Witness, GivesAHigherOneWhenTheLastHasRunOut) {
  Witness w = waited();
  ASSERT_TRUE(w.take(ask(1, "head1"), 0s).granted);
  ASSERT_TRUE(w.take(ask(1, "head1"), 10s).granted) << "renewed";
  EXPECT_FALSE(w.take(ask(2, "head2"), 39s).granted);
  EXPECT_TRUE(w.take(ask(2, "head2"), 40s).granted);
  EXPECT_FALSE(w.take(ask(1, "head1"), 80s).granted) << "a lower one never again";
}

TEST(Witness, GivesTheSameNameAHigherOneAtOnce) {
  Witness w = waited();
  ASSERT_TRUE(w.take(ask(1, "head1"), 0s).granted);
  EXPECT_TRUE(w.take(ask(2, "head1", 1s), 1s).granted);
  // And cuts nothing short by it.
  EXPECT_FALSE(w.take(ask(3, "head2"), 29s).granted);
}

TEST(Witness, ALookChangesNothing) {
  Witness w = waited();
  EXPECT_TRUE(w.take(look(4, "head1"), 1s).granted);
  EXPECT_EQ(w.record(), Witness::Record{});
  EXPECT_FALSE(w.must_keep());
  ASSERT_TRUE(w.take(ask(1, "head2"), 1s).granted);
  EXPECT_FALSE(w.take(look(4, "head1"), 2s).granted);
}

TEST(Witness, GrantsNothingForTheLongestLeaseAfterItsStart) {
  for (const Witness::Record& record : {Witness::Record{}, Witness::Record{3, "head1", {}}}) {
    Witness w(record, 100s);
    EXPECT_FALSE(w.take(ask(3, "head1"), 100s).granted);
    const LeaseAnswer early = w.take(ask(4, "head2"), 100s + kLongestLease - 1us);
    EXPECT_FALSE(early.granted);
    EXPECT_EQ(early.left, 1us);
    EXPECT_TRUE(w.take(ask(4, "head2"), 100s + kLongestLease).granted);
  }
}

TEST(Witness, KeepsWhatMustLast) {
  Witness w = waited();
  w.take(ask(1, "head1"), 0s);
  EXPECT_TRUE(w.must_keep());
  w.kept();
  EXPECT_FALSE(w.must_keep());
  w.take(ask(1, "head1"), 3s);
  EXPECT_FALSE(w.must_keep()) << "a renewal costs no write";
  LeaseAsk says = ask(1, "head1");
  says.sole = {1, 1, "head1"};
  w.take(says, 4s);
  EXPECT_TRUE(w.must_keep());
  EXPECT_EQ(Witness::record_from(Witness::to_json(w.record())), w.record());
  EXPECT_EQ(Witness::record_from(Json("what")), Witness::Record{});
  EXPECT_EQ(Witness::record_from(Json::object({{"term", -1}, {"who", "a"}})), Witness::Record{});
}

TEST(Witness, OfWhatIsSaidOfTheJournalsTheNewestHolds) {
  Witness w = waited();
  LeaseAsk alone = ask(2, "head1"), both = alone;
  both.sole = {2, 1, ""};
  alone.sole = {2, 2, "head1"};
  w.take(alone, 0s);
  EXPECT_EQ(w.take(both, 1s).sole, alone.sole) << "this one came late";
  EXPECT_EQ(w.take(ask(2, "head1"), 2s).sole, alone.sole) << "nothing said changes nothing";
  LeaseAsk refused = ask(1, "head2");
  refused.sole = {9, 9, "head2"};
  EXPECT_EQ(w.take(refused, 3s).sole, alone.sole) << "who is refused says nothing";
}

TEST(Witness, RefusesALeaseThatIsTooLong) {
  Witness w = waited();
  EXPECT_FALSE(w.take(ask(1, "head1", kLongestLease + 1us), 0s).granted);
  EXPECT_FALSE(w.take(ask(1, ""), 0s).granted);
}

}  // namespace
}  // namespace sickbay::succession
