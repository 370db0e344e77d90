// SPDX-License-Identifier: Apache-2.0
#include "workload/import/changes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sickbay::workload {
namespace {

using Names = std::vector<std::string>;

TEST(Watch, GoesOnUntilTheWaitIsBrokenOff) {
  int rounds = 0, waits = 0;
  watch([&]() -> Status { return ++rounds, Status(); }, [&] { return ++waits < 3; },
        [](const Error&) { return false; });
  EXPECT_EQ(rounds, 3);
}

TEST(Watch, ARoundThatFailsIsToldAndOnlyEndsItWhenSaidSo) {
  int rounds = 0, told = 0;
  const auto failing = [&]() -> Status { return ++rounds, fail(ErrorCode::busy, "busy"); };
  watch(
      failing, [&] { return rounds < 3; }, [&](const Error&) { return ++told, true; });
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(told, 3);
  watch(
      failing, [] { return true; }, [](const Error&) { return false; });
  EXPECT_EQ(rounds, 4);
}

TEST(FileChanges, GrowthTruncationAndRotationAreSeenOnce) {
  char name[] = "/tmp/sickbay-watch-XXXXXX";
  const std::string folder = mkdtemp(name), log = folder + "/log", other = folder + "/other";
  std::ofstream(log) << "one\n";
  FileChanges changes;
  EXPECT_EQ(changes.changed({log, other}), Names{log}) << "what is not there is not changed";
  changes.remember({log});
  EXPECT_EQ(changes.changed({log}), Names{});
  std::ofstream(log, std::ios::app) << "two\n";
  EXPECT_EQ(changes.changed({log}), Names{log});
  changes.remember({log});
  std::filesystem::resize_file(log, 2);
  EXPECT_EQ(changes.changed({log}), Names{log}) << "cut";
  changes.remember({log});
  // Rotated: another file of the same size stands there.
  std::ofstream(other) << "ab";
  std::filesystem::rename(log, log + ".1");
  EXPECT_EQ(changes.changed({log}), Names{}) << "between the two steps of a rotation";
  std::filesystem::rename(other, log);
  EXPECT_EQ(changes.changed({log}), Names{log});
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sickbay::workload
