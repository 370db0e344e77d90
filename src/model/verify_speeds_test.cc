// SPDX-License-Identifier: Apache-2.0
// Figures of nodes over days, and which of them are slow.
#include "model/verify_speeds.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using ::testing::HasSubstr;

Json cpu(double value) { return Json::object({{"cpu", value}}); }

Speeds of_nodes(int nodes, double value) {
  Speeds speeds;
  for (int i = 1; i <= nodes; ++i) speeds.keep("A", fmt::format("n{}", i), cpu(value + i % 3));
  return speeds;
}

TEST(Speeds, ANodeAgainstTheFleet) {
  const struct {
    const char* what;
    int others;
    const char* kind;
    double value;
    bool slow;
  } rows[] = {
      {"as the others", 8, "A", 80, false}, {"half as fast", 8, "A", 40, true},
      {"a tenth less", 8, "A", 73, false},  {"too few others", 4, "A", 40, false},
      {"another kind", 8, "B", 40, false},  {"faster", 8, "A", 160, false},
  };
  for (const auto& row : rows)
    EXPECT_EQ(!of_nodes(row.others, 80).judge(row.kind, "x1", cpu(row.value)).empty(), row.slow) << row.what;
  EXPECT_EQ(
      of_nodes(6, 80).judge("A", "x1", cpu(40)),
      "slow in phase cpu: 40 Mpairs/s, where 6 other nodes of its kind have 81 (at least 64.8 is usual)");
}

TEST(Speeds, ANodeAgainstItsOwnPast) {
  Speeds speeds;
  EXPECT_EQ(speeds.judge("A", "n1", cpu(80)), "");
  for (const double value : {80.0, 81.0}) speeds.keep("A", "n1", cpu(value));
  EXPECT_EQ(speeds.judge("A", "n1", cpu(40)), "") << "two are no past";
  speeds.keep("A", "n1", cpu(79));
  EXPECT_EQ(speeds.judge("A", "n1", cpu(40)),
            "slow in phase cpu: 40 Mpairs/s, where it had 80 itself before (median of 3)");
  EXPECT_EQ(speeds.judge("A", "n1", cpu(78)), "");
  EXPECT_EQ(speeds.judge("A", "n2", cpu(40)), "") << "another node";
}

TEST(Speeds, OnlyTheLatestFewAreKept) {
  Speeds speeds;
  for (int i = 0; i < 100; ++i) speeds.keep("A", "n1", cpu(i < 92 ? 80 : 40));
  EXPECT_EQ(speeds.judge("A", "n1", cpu(40)), "") << "it has been so for long: another processor";
  EXPECT_THAT(speeds.canonical_text(), HasSubstr("speed A cpu n1: 40 40 40"));
  for (int i = 0; i < 1000; ++i) speeds.keep(fmt::format("kind {}", i), "n1", cpu(1));
  EXPECT_LE(speeds.kinds.size(), 64U);
  speeds.keep("", "n1", cpu(1));
  EXPECT_FALSE(speeds.kinds.contains(""));
}

}  // namespace
}  // namespace sickbay
