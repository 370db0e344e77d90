// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/starving.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace sickbay::hang {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// Of a process that asks for a processor all the time.
ProcessTimes lost(std::int64_t thousandths, Micros seen = 60s) {
  ProcessTimes times;
  times.seen = seen;
  times.waited = seen * thousandths / 1000;
  times.ran = seen - times.waited;
  return times;
}

// "n2 apart 10", "n1 alike 380": what is said, with what the others lost.
std::vector<std::string> said(const std::map<std::string, ProcessTimes>& told, std::size_t nodes) {
  std::vector<std::string> list;
  for (const StarvedNode& one : starved_nodes(told, nodes))
    list.push_back(fmt::format("{} {} {}", one.node, one.apart ? "apart" : "alike", one.others_permille));
  return list;
}

TEST(Starving, OneNodeOfTwoThatWaitsStandsApart) {
  EXPECT_THAT(said({{"n1", lost(10)}, {"n2", lost(480)}}, 2), ElementsAre("n2 apart 10"));
  EXPECT_THAT(said({{"n1", lost(0)}, {"n2", lost(150)}}, 2), ElementsAre("n2 apart 0"));
  EXPECT_THAT(said({{"n1", lost(10)}, {"n2", lost(149)}}, 2), IsEmpty()) << "too little";
  EXPECT_THAT(said({{"n1", lost(10)}, {"n2", lost(900, 19s)}}, 2), IsEmpty()) << "too short";
}

TEST(Starving, WhereAllWaitNobodyStandsApart) {
  EXPECT_THAT(said({{"n1", lost(380)}, {"n2", lost(400)}}, 2), ElementsAre("n2 alike 380"));
  EXPECT_THAT(said({{"n1", lost(200)}, {"n2", lost(590)}}, 2), ElementsAre("n2 alike 200"));
  EXPECT_THAT(said({{"n1", lost(190)}, {"n2", lost(590)}}, 2), ElementsAre("n2 apart 190", "n1 alike 590"));
  std::map<std::string, ProcessTimes> many;
  for (int i = 1; i <= 10'000; ++i) many[fmt::format("n{}", i)] = lost(300 + i % 7);
  EXPECT_EQ(starved_nodes(many, many.size()).size(), 1u) << "one shows that all waited";
}

// Of a hung job one rank polls on a busy node, and the other sleeps in its receive.
TEST(Starving, OneThatAsksForNothingIsNoComparison) {
  ProcessTimes sleeps = lost(0);
  sleeps.ran = 0s;
  EXPECT_THAT(said({{"n1", sleeps}, {"n2", lost(800)}}, 2), ElementsAre("n2 alike -1"));
  sleeps.ran = 29s;
  EXPECT_THAT(said({{"n1", sleeps}, {"n2", lost(800)}}, 2), ElementsAre("n2 alike -1"));
  sleeps.ran = 30s;
  EXPECT_THAT(said({{"n1", sleeps}, {"n2", lost(800)}}, 2), ElementsAre("n2 apart 0"));
  // One that works now and then may be starved all the same, by others that ask for as much.
  ProcessTimes seldom = lost(0);
  seldom.ran = 18s;
  ProcessTimes starved = seldom;
  starved.ran = 3s, starved.waited = 15s;
  EXPECT_THAT(said({{"n1", seldom}, {"n2", starved}}, 2), ElementsAre("n2 apart 0"));
  // Half of the others must be comparable.
  sleeps.ran = 0s;
  EXPECT_THAT(said({{"n1", lost(5)}, {"n2", lost(800)}, {"n3", sleeps}, {"n4", sleeps}}, 4),
              ElementsAre("n2 alike -1"));
  EXPECT_THAT(said({{"n1", lost(5)}, {"n2", lost(800)}, {"n3", lost(9)}, {"n4", sleeps}}, 4),
              ElementsAre("n2 apart 9"));
  EXPECT_THAT(said({{"n1", ProcessTimes{.name = "", .seen = 60s, .ran = {}, .waited = 0s}},
                    {"n2", ProcessTimes{.name = "", .seen = 60s, .ran = {}, .waited = 40s}}},
                   2),
              ElementsAre("n2 alike -1"))
      << "older agents do not say what ran";
}

TEST(Starving, AJobOfOneNodeIsComparedWithNothing) {
  EXPECT_THAT(said({{"n1", lost(500)}}, 1), ElementsAre("n1 alike -1"));
}

TEST(Starving, NothingIsSaidBeforeHalfOfTheOthersHaveTold) {
  EXPECT_THAT(said({{"n2", lost(500)}}, 2), IsEmpty());
  EXPECT_THAT(said({{"n1", lost(1, 5s)}, {"n2", lost(500)}}, 2), IsEmpty())
      << "n1 was not looked at for long";
  EXPECT_THAT(said({{"n1", lost(1)}, {"n2", lost(500)}}, 8), IsEmpty());
  EXPECT_THAT(
      said({{"n1", lost(1)}, {"n2", lost(500)}, {"n3", lost(2)}, {"n4", lost(3)}, {"n5", lost(2)}}, 8),
      ElementsAre("n2 apart 2"));
}

TEST(Starving, OfThreeWithTwoBadOnesNoneStandsApart) {
  EXPECT_THAT(said({{"n1", lost(10)}, {"n2", lost(500)}, {"n3", lost(520)}}, 3), ElementsAre("n3 alike 500"));
  EXPECT_THAT(said({{"n1", lost(10)}, {"n2", lost(20)}, {"n3", lost(520)}}, 3), ElementsAre("n3 apart 20"));
}

TEST(Starving, TwoOfManyBothStandApart) {
  std::map<std::string, ProcessTimes> told;
  for (int i = 1; i <= 9; ++i) told[fmt::format("n{}", i)] = lost(i == 3 ? 500 : i == 7 ? 300 : 5);
  EXPECT_THAT(said(told, 9), ElementsAre("n3 apart 5", "n7 apart 5"));
}

}  // namespace
}  // namespace sickbay::hang
