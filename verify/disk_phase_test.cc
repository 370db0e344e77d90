// SPDX-License-Identifier: Apache-2.0
// The disk phase: on a disk that works, where there is none, and what is no pace for any disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
