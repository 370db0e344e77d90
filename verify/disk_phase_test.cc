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
