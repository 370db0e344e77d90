// SPDX-License-Identifier: Apache-2.0
// Enumerated figures: what one link or node measured, what the others did, and who stands out.
#include "model/verify_noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// All pairs of `nodes` nodes, each with `segments`; `lost` tells how many of them, by its ends.
template <class Lost>
std::vector<LinkFigures> links_of(std::size_t nodes, double segments, Lost lost) {
  std::vector<LinkFigures> all;
  for (std::size_t a = 0; a < nodes; ++a)
    for (std::size_t b = a + 1; b < nodes; ++b)
      all.push_back({.low = a, .high = b, .segments = segments, .lost = lost(a, b), .busy = true});
  return all;
}

std::vector<LinkFigures> unexplained(const std::vector<LinkFigures>& all, double at_least = 3) {
  std::vector<LinkFigures> bad;
  for (const LinkFigures& link : all)
    if (link.lost >= at_least && !noise_explains(link, all)) bad.push_back(link);
  return bad;
}

TEST(VerifyNoise, ALinkAgainstTheOthers) {
  const struct {
    const char* what;
    std::size_t nodes;
    double lost_here, segments, lost_elsewhere;  ///< on the link 0-1, and on each of the others
    bool explained;
  } rows[] = {
      // The figures that were seen: nobody else lost anything, so it is the link.
      {"23 of 3254, alone", 8, 23, 3254, 0, false},
      {"23 of 3254, as the others", 8, 23, 3254, 20, true},
      {"23 of 3254, others a third", 8, 23, 3254, 8, false},
      {"3 of 3254, others 1", 8, 3, 3254, 1, true},
      // Real losses of 1, 5 and 10 % on a machine that loses one in a thousand anyhow.
      {"1 %", 8, 20, 2000, 2, false},
      {"5 %", 8, 100, 2000, 2, false},
      {"10 %", 8, 200, 2000, 2, false},
      {"1 % of what a stalled pair sends", 8, 6, 500, 0, false},
      // Four nodes: one other link shares no end.
      {"four nodes, alone", 4, 6, 500, 0, false},
      {"four nodes, as the other", 4, 6, 500, 5, true},
      // Nobody to compare with: the bound alone decides.
      {"three nodes", 3, 6, 500, 6, false},
      {"two nodes", 2, 23, 3254, 0, false},
  };
  for (const auto& row : rows) {
    const auto all = links_of(row.nodes, row.segments, [&](std::size_t a, std::size_t b) {
      return a == 0 && b == 1 ? row.lost_here : row.lost_elsewhere;
    });
    EXPECT_EQ(noise_explains(all.front(), all), row.explained) << row.what;
  }
}

TEST(VerifyNoise, OnAQuietMachineNothingIsNoise) {
  auto all = links_of(8, 2000, [](std::size_t, std::size_t) { return 20.0; });
  EXPECT_EQ(unexplained(all).size(), 0U);
  for (LinkFigures& link : all) link.busy = false;
  EXPECT_EQ(unexplained(all).size(), 28U) << "a switch, say: all of it is real";
}

TEST(VerifyNoise, ANodesOwnLinksAreNoMeasureOfEachOther) {
  // Node 2 loses on each of its links; they share that end and do not acquit each other.
  const auto all =
      links_of(8, 2000, [](std::size_t a, std::size_t b) { return a == 2 || b == 2 ? 40.0 : 1; });
  EXPECT_EQ(unexplained(all).size(), 7U);
  for (const LinkFigures& link : unexplained(all)) EXPECT_TRUE(link.low == 2 || link.high == 2);
}

TEST(VerifyNoise, OneMoreFaultyNodeIsLeftAside) {
  // Two of eight nodes lose: the worst third of the others is no measure, so each is still found.
  const auto all = links_of(
      8, 2000, [](std::size_t a, std::size_t b) { return a == 2 || b == 2 || a == 5 || b == 5 ? 40.0 : 0; });
  EXPECT_EQ(unexplained(all).size(), 13U);
}

TEST(VerifyNoise, BurstsCountAsOneEvent) {
  // Noise that strikes two links of three, seven at a time: 12 here are two such bursts.
  const auto all = links_of(6, 2000, [](std::size_t a, std::size_t b) {
    return a == 0 && b == 1 ? 12.0 : (a + b) % 3 != 0 ? 7.0 : 0.0;
  });
  EXPECT_TRUE(noise_explains(all.front(), all));
}

TEST(VerifyNoise, TheSameSecondsCountFirst) {
  const auto at = [](std::size_t a, std::size_t b, double lost, double from) {
    return LinkFigures{a, b, 2000, lost, from, from + 2, true};
  };
  // The machine was busy from 100 to 102 and quiet later.
  const std::vector<LinkFigures> all = {at(0, 1, 20, 100), at(2, 3, 18, 100), at(4, 5, 22, 101),
                                        at(6, 7, 0, 200),  at(2, 4, 0, 200),  at(3, 5, 0, 200)};
  EXPECT_TRUE(noise_explains(all[0], all));
  const std::vector<LinkFigures> later = {at(0, 1, 20, 200), at(2, 3, 18, 100), at(4, 5, 22, 101),
                                          at(6, 7, 0, 200),  at(2, 4, 0, 200),  at(3, 5, 0, 200)};
  EXPECT_FALSE(noise_explains(later[0], later));
  // Clocks that are far apart: no seconds in common, so all others count.
  const std::vector<LinkFigures> apart = {at(0, 1, 20, 1000), at(2, 3, 18, 100), at(4, 5, 22, 100)};
  EXPECT_TRUE(noise_explains(apart[0], apart));
}

std::vector<std::size_t> odd(const std::vector<NodeFigure>& figures, double floor = 0.15) {
  std::vector<std::size_t> at;
  for (const OddFigure& each : below_their_kind(figures, floor)) at.push_back(each.at);
  return at;
}

TEST(VerifyNoise, ANodeAgainstItsKind) {
  const auto kind = [](std::initializer_list<double> values) {
    std::vector<NodeFigure> all;
    for (const double value : values) all.push_back({"A", value});
    return all;
  };
  EXPECT_THAT(odd(kind({80, 81, 79, 80, 82, 40})), ElementsAre(5)) << "half as fast";
  EXPECT_THAT(odd(kind({80, 81, 79, 80, 82, 73})), IsEmpty()) << "within the floor";
  EXPECT_THAT(odd(kind({80, 60, 100, 70, 90, 50})), IsEmpty()) << "they scatter that much";
  EXPECT_THAT(odd(kind({80, 81, 79, 40})), IsEmpty()) << "too few to say what is usual";
  EXPECT_THAT(odd(kind({80, 81, 79, 80, 82, 160})), IsEmpty()) << "faster is no fault";
  EXPECT_THAT(odd(kind({80, 80, 80, 80, 80, 40, 40, 40})), IsEmpty()) << "three of eight are another kind";
  EXPECT_THAT(odd({}), IsEmpty());
}

TEST(VerifyNoise, KindsAreNotCompared) {
  std::vector<NodeFigure> figures;
  for (int i = 0; i < 8; ++i) figures.push_back({"new", 100});
  figures.push_back({"old", 50});
  figures.push_back({"", 10});
  EXPECT_THAT(odd(figures), IsEmpty());
}

TEST(VerifyNoise, WhoWaitedForOthersIsNeitherJudgedNorAMeasure) {
  std::vector<NodeFigure> figures = {{"A", 80}, {"A", 81}, {"A", 79}, {"A", 80}, {"A", 82}, {"A", 40, true}};
  EXPECT_THAT(odd(figures), IsEmpty());
  for (int i = 0; i < 20; ++i) figures.push_back({"A", 40, true});
  figures.push_back({"A", 41});
  EXPECT_THAT(odd(figures), ElementsAre(26));
}

}  // namespace
}  // namespace sickbay
