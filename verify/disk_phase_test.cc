// SPDX-License-Identifier: Apache-2.0
// The disk phase: on a disk that works, where there is none, and what is no pace for any disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "disk_pace.h"
#include "phases.h"

namespace sickbay::verify {
namespace {

TEST(DiskPhase, StandingStillIsNextToNothingForLong) {
  const struct {
    double mb, seconds;
    bool still;
  } rows[] = {
      {34, 1, false},   // a disk
      {34, 25, false},  // a busy one
      {1, 29, false},   // a sync that had to wait, and little to write
      {34, 66, false},  // slow, and at work
      {34, 69, true},   // below half a megabyte a second
      {34, 160, true},  // 200 KiB a second
      {1, 30, true},   {0.25, 30, true},
  };
  for (const auto& row : rows)
    EXPECT_EQ(stood_still(row.mb, row.seconds), row.still) << row.mb << " " << row.seconds;
}

// What is synced, in blocks, and after how many seconds it is over.
std::pair<std::vector<std::uint64_t>, double> steps(double seconds_a_sync, double blocks_a_second,
                                                    std::uint64_t all = 64) {
  constexpr double kMbOfBlock = 0.25;
  std::vector<std::uint64_t> steps;
  double seconds = 0;
  for (std::uint64_t synced = 0;
       synced < all && !stood_still(kMbOfBlock * static_cast<double>(synced), seconds);) {
    const std::uint64_t before = synced;
    synced = next_sync(synced, all, seconds);
    seconds += seconds_a_sync + static_cast<double>(synced - before) / blocks_a_second;
    steps.push_back(synced);
  }
  return {steps, seconds};
}

TEST(DiskPhase, OneThatWorksIsSyncedTwiceAndASlowOneInStepsThatGrow) {
  using testing::ElementsAre, testing::Pair, testing::Lt;
  EXPECT_THAT(steps(0.01, 400), Pair(ElementsAre(4, 64), Lt(1)));
  EXPECT_THAT(steps(0.01, 400, 1), Pair(ElementsAre(1), Lt(1)));
  // Each sync waits three seconds for something else, or five.
  EXPECT_THAT(steps(3, 400), Pair(ElementsAre(4, 8, 16, 32, 64), Lt(16)));
  EXPECT_THAT(steps(5, 400), Pair(ElementsAre(4, 8, 16, 31, 54, 64), Lt(31)));
  // 200, 100, 20 KB a second.
  EXPECT_THAT(steps(0.1, 0.8), Pair(ElementsAre(4, 8, 16, 27), Lt(40)));
  EXPECT_THAT(steps(0.1, 0.4), Pair(ElementsAre(4, 8, 13), Lt(40)));
  EXPECT_THAT(steps(0.1, 0.08), Pair(ElementsAre(4), Lt(60)));
}

TEST(DiskPhase, WhoWaitsBehindTheDataOfOthersIsNotMarked) {
  const auto after = [](const std::vector<Pace>& paces) {
    Finding found{.phase = "disk"};
    for (const Pace& pace : paces) judge_pace(found, pace, "write");
    return std::pair(found.crawls, found.detail);
  };
  const Pace works = {16, 1, 0}, still = {16, 80, 3}, behind = {16, 80, 900};
  using Said = std::pair<bool, std::string>;
  EXPECT_EQ(after({works}), Said(false, ""));
  EXPECT_EQ(after({still}), Said(true, "16 MB took 80 s to write (0.2 MB/s)"));
  const std::string with = "16 MB took 80 s to write (0.2 MB/s), with 900 MB of others to be written";
  EXPECT_EQ(after({behind}), Said(false, with));
  EXPECT_EQ(after({behind, works}), Said(false, with));
  EXPECT_EQ(after({behind, still}), Said(true, "16 MB took 80 s to write (0.2 MB/s)"));
  EXPECT_EQ(after({still, behind}), Said(true, "16 MB took 80 s to write (0.2 MB/s)"));
}

TEST(DiskPhase, ADiskThatWorksDoesNotStandStill) {
  Options options;
  options.disk_folder = ::testing::TempDir();
  options.disk = 1 << 20;
  const Finding found = disk_phase(options);
  EXPECT_TRUE(found.ok) << found.detail;
  EXPECT_FALSE(found.crawls);
  EXPECT_GT(found.value, 0);
  options.disk_folder = "/no/such/folder";
  const Finding none = disk_phase(options);
  EXPECT_FALSE(none.ok);
  EXPECT_THAT(none.detail, ::testing::HasSubstr("/no/such/folder"));
}

}  // namespace
}  // namespace sickbay::verify
