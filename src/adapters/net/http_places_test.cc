// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/http_places.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

const auto kAnybody = [](HttpPlaces::Id) { return true; };

TEST(HttpPlaces, AUidHasSoManyAndRootTheLast) {
  HttpPlaces places({.all = 32, .of_peer = 20, .of_address = 0, .refused = 2});
  HttpPlaces::Id id = 0;
  int first = 0, second = 0, root = 0;
  for (int i = 0; i < 32; ++i) first += places.come(++id, 60001).has_place;
  for (int i = 0; i < 32; ++i) second += places.come(++id, 60002).has_place;
  for (int i = 0; i < 32; ++i) root += places.come(++id, 0).has_place;
  EXPECT_EQ(first, 20);
  EXPECT_EQ(second, 10);
  EXPECT_EQ(root, 2) << "a sixteenth";
  places.left(1);
  EXPECT_TRUE(places.come(++id, 60002).has_place);
  EXPECT_FALSE(places.come(++id, 60001).has_place);
}

TEST(HttpPlaces, TheOldestWhoIsRefusedMakesRoomForTheNext) {
  HttpPlaces places({.all = 1, .of_peer = 1, .of_address = 0, .refused = 2});
  EXPECT_TRUE(places.come(1, 0).has_place);
  EXPECT_FALSE(places.come(2, 7).gives_way);
  EXPECT_FALSE(places.come(3, 7).gives_way);
  EXPECT_EQ(places.come(4, 7).gives_way, 2U);
  places.left(3);
  EXPECT_FALSE(places.come(5, 7).gives_way);
  EXPECT_EQ(places.come(6, 7).gives_way, 4U);
}

// (In a soak honest users lost the answer "too many connections" to somebody's thousands of connections a
// second: they saw a reset.)
TEST(HttpPlaces, WhoIsRefusedAgainAndAgainPushesOutNobodyElse) {
  HttpPlaces places({.all = 1, .of_peer = 1, .of_address = 0, .refused = 8});
  EXPECT_TRUE(places.come(1, 0).has_place);
  EXPECT_FALSE(places.come(2, 8).has_place);
  EXPECT_FALSE(places.come(3, 9).has_place);
  for (HttpPlaces::Id id = 4; id < 100; ++id) {
    const auto gone = places.come(id, 7).gives_way;
    EXPECT_EQ(gone, id < 10 ? std::nullopt : std::optional(id - 6));
  }
  places.left(2);
  EXPECT_FALSE(places.come(100, 8).gives_way) << "his place among them is free again";
}

TEST(HttpPlaces, StrangersGiveWayOfTheirAddressFirst) {
  HttpPlaces places({.all = 4, .of_peer = 4, .of_address = 2, .refused = 2});
  EXPECT_TRUE(places.come(1, "a", kAnybody).has_place);
  EXPECT_TRUE(places.come(2, "b", kAnybody).has_place);
  EXPECT_TRUE(places.come(3, "b", kAnybody).has_place);
  EXPECT_EQ(places.come(4, "b", kAnybody).gives_way, 2U) << "not the oldest of all: b has its share";
  EXPECT_FALSE(places.come(5, "c", kAnybody).gives_way);
  EXPECT_EQ(places.come(6, "d", kAnybody).gives_way, 1U) << "no place is left: the oldest of all";
  EXPECT_EQ(places.come(7, "d", [](HttpPlaces::Id id) { return id != 3; }).gives_way, 4U)
      << "whose credential is looked at stays";
  const auto none = places.come(8, "d", [](HttpPlaces::Id) { return false; });
  EXPECT_FALSE(none.has_place);
  EXPECT_FALSE(none.gives_way);
}

TEST(HttpPlaces, WhoIsKnownStays) {
  HttpPlaces places({.all = 100, .of_peer = 3, .of_address = 32, .refused = 2});
  for (HttpPlaces::Id id = 1; id <= 4; ++id) places.come(id, "a", kAnybody);
  EXPECT_TRUE(places.is(1, 60001));
  EXPECT_TRUE(places.is(2, 60001));
  EXPECT_TRUE(places.is(3, 60001));
  EXPECT_TRUE(places.is(3, 60001)) << "said again";
  EXPECT_FALSE(places.is(4, 60001)) << "three of one uid there";
  EXPECT_TRUE(places.is(4, 60002));
  EXPECT_TRUE(places.is(4, 60003)) << "another asks over the same connection";
  places.come(5, "b", kAnybody);
  EXPECT_TRUE(places.is(5, 60001)) << "elsewhere he has more";
  places.left(1);
  EXPECT_FALSE(places.is(1, 60001)) << "it is gone";
  EXPECT_TRUE(places.is(4, 60001));
  EXPECT_TRUE(places.is(4, 0));
  EXPECT_FALSE(places.is(99, 0));
}

}  // namespace
}  // namespace sickbay
