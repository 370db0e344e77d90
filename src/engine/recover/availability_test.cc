// SPDX-License-Identifier: Apache-2.0
// The paper's Tables 1 and 2, number by number.
#include "engine/recover/availability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

namespace sickbay::recover {
namespace {

constexpr double kSecondsOfDay = 86400;

// A group of eight nodes, of which 3-4 and 6-8 depend on each other: before, they are restarted one after
// the other; after, they are a cell.
struct Table {
  std::array<double, 8> mttf_days, takes, before, after;
  double whole_before, whole_after;      // MTTR by formula (3), m_i = 1 / MTTF_i
  double printed_before, printed_after;  // as the paper prints it
  double series_mttf_days, printed_mttf_days;
};
constexpr Table kTable1 = {
    {30, 5, 10, 15, 2, 30, 20, 15},
    {60, 15, 20, 30, 20, 30, 35, 40},
    {60, 15, 50, 50, 20, 105, 105, 105},
    {60, 15, 30, 30, 20, 40, 40, 40},
    // The paper prints 37.7 for 39.083 s / 1.05 = 37.2 s, with its own numbers: a slip.
    37.222,
    24.762,
    37.7,
    24.8,
    // And 30 days, which is the MTTF of its best nodes; the group as a whole, which
    // fails when any of them does, has a day.
    0.952,
    30};
constexpr Table kTable2 = {{10, 10, 10, 10, 10, 10, 10, 10},
                           {30, 30, 30, 30, 30, 30, 30, 30},
                           {30, 30, 60, 60, 30, 90, 90, 90},
                           {30, 30, 30, 30, 30, 30, 30, 30},
                           60,
                           30,
                           60,
                           30,
                           1.25,
                           10};

// What is restarted with node i, from 0.
std::vector<int> party_of(int i) {
  if (i == 2 || i == 3) return {2, 3};
  if (i >= 5) return {5, 6, 7};
  return {i};
}

RestartTree tree_of(const Table& table) {
  TreeParts parts;
  parts.jobs.push_back({.job_id = 1});
  for (int i = 0; i < 8; ++i) {
    parts.nodes.push_back(
        {"n" + std::to_string(i + 1), {}, Seconds(table.takes[static_cast<std::size_t>(i)])});
    parts.jobs[0].nodes.push_back(parts.nodes.back().name);
  }
  parts.dependent = {{"n3", "n4"}, {"n6", "n7", "n8"}};
  return RestartTree(parts);
}

void check(const Table& table) {
  const RestartTree tree = tree_of(table);
  std::vector<Member> serial, parallel;
  std::vector<Seconds> mttf;
  for (int i = 0; i < 8; ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::vector<Seconds> takes;
    for (const int j : party_of(i)) takes.push_back(Seconds(table.takes[static_cast<std::size_t>(j)]));
    EXPECT_EQ(serial_time(takes), Seconds(table.before[at])) << "node " << i + 1;
    EXPECT_EQ(parallel_time(takes), Seconds(table.after[at])) << "node " << i + 1;
    const Cell& cell = tree.cell(tree.of_node("n" + std::to_string(i + 1)).value());
    EXPECT_EQ(cell.takes, Seconds(table.after[at])) << "the tree's own cell of node " << i + 1;
    mttf.push_back(Seconds(table.mttf_days[at] * kSecondsOfDay));
    serial.push_back({1 / mttf.back().count(), serial_time(takes)});
    parallel.push_back({1 / mttf.back().count(), cell.takes});
    EXPECT_LE(availability(mttf.back(), serial.back().mttr), availability(mttf.back(), parallel.back().mttr));
  }
  EXPECT_NEAR(mttr_of(serial)->count(), table.whole_before, 0.001);
  EXPECT_NEAR(mttr_of(parallel)->count(), table.whole_after, 0.001);
  EXPECT_NEAR(mttr_of(serial)->count(), table.printed_before, 0.5) << "printed, within the slip";
  EXPECT_NEAR(mttr_of(parallel)->count(), table.printed_after, 0.05) << "printed";
  EXPECT_NEAR(series_mttf(mttf)->count() / kSecondsOfDay, table.series_mttf_days, 0.001);
  EXPECT_EQ(*std::ranges::max_element(table.mttf_days), table.printed_mttf_days)
      << "printed: the best node's";
  // The group as a whole is up so much of the time.
  const double up_before = availability(*series_mttf(mttf), *mttr_of(serial));
  const double up_after = availability(*series_mttf(mttf), *mttr_of(parallel));
  EXPECT_LT(up_before, up_after);
}

TEST(Availability, ThePapersTable1OfUnlikeNodes) {
  check(kTable1);
  const RestartTree tree = tree_of(kTable1);
  EXPECT_NEAR(availability(Seconds(2 * kSecondsOfDay), Seconds(20)), 0.999884, 1e-6)
      << "node 5, the worst one";
  EXPECT_NEAR(availability(Seconds(0.95238 * kSecondsOfDay), Seconds(37.222)), 0.999548, 1e-6);
  EXPECT_NEAR(availability(Seconds(0.95238 * kSecondsOfDay), Seconds(24.762)), 0.999699, 1e-6);
  EXPECT_EQ(tree.cell(tree.find("job:1").value()).children.size(), 5u) << "Figure 5, on the right";
}

TEST(Availability, ThePapersTable2OfLikeNodes) { check(kTable2); }

TEST(Availability, AKthOfTheRecoveryIsWorthKTimesTheTimeToFailure) {
  for (const double k : {2.0, 3.0, 10.0, 1e6})
    for (const double mttf : {60.0, kSecondsOfDay, 30 * kSecondsOfDay})
      for (const double mttr : {1.0, 60.0, 7200.0})
        EXPECT_DOUBLE_EQ(availability(Seconds(k * mttf), Seconds(mttr)),
                         availability(Seconds(mttf), Seconds(mttr / k)));
}

TEST(Availability, AtTheEnds) {
  EXPECT_EQ(availability(Seconds(60), Seconds(0)), 1);
  EXPECT_EQ(availability(Seconds(0), Seconds(60)), 0);
  EXPECT_EQ(availability(Seconds(std::numeric_limits<double>::infinity()), Seconds(60)), 1);
  EXPECT_EQ(availability(Seconds(60), Seconds(60)), 0.5);
  EXPECT_FALSE(mttr_of({}));
  EXPECT_FALSE(mttr_of(std::vector<Member>{{0, Seconds(60)}})) << "nothing failed: unknown, not 0";
  EXPECT_EQ(mttr_of(std::vector<Member>{{0, Seconds(60)}, {3, Seconds(10)}}), Seconds(10));
  EXPECT_FALSE(series_mttf({}));
  EXPECT_FALSE(series_mttf(std::vector<Seconds>{Seconds(60), Seconds(0)}));
  EXPECT_EQ(series_mttf(std::vector<Seconds>{Seconds(60)}), Seconds(60));
  EXPECT_EQ(serial_time({}), Seconds(0));
  EXPECT_EQ(parallel_time({}), Seconds(0));
}

// Paper, 5.1: the more nodes, the more is gained; of dependent sets of any size all but one restart.
TEST(Availability, TheGainOfACellGrowsWithItsNodes) {
  double last = 0;
  for (int size = 1; size <= 64; size *= 2) {
    const std::vector<Seconds> takes(static_cast<std::size_t>(size), Seconds(30));
    const double gain = serial_time(takes) / parallel_time(takes);
    EXPECT_EQ(gain, size);
    EXPECT_GT(gain, last);
    last = gain;
  }
}

}  // namespace
}  // namespace sickbay::recover
