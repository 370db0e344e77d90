// SPDX-License-Identifier: Apache-2.0
#include "disk_pace.h"

#include <fmt/format.h>

#include <algorithm>

namespace sickbay::verify {
namespace {

constexpr double kLong = 30, kLittle = 0.5;  // seconds; MB/s: the slowest flash card does twenty times that
constexpr double kMuchUnwritten = 64;        // MB
constexpr std::uint64_t kFirstBlocks = 4;
constexpr double kAtOnce = 1, kStep = 15;  // seconds

}  // namespace

bool stood_still(double mb, double seconds) { return seconds >= kLong && mb < kLittle * seconds; }

std::uint64_t next_sync(std::uint64_t synced, std::uint64_t all, double seconds) {
  if (synced == 0) return std::min(all, kFirstBlocks);
  if (seconds < kAtOnce) return all;
  const auto step = static_cast<std::uint64_t>(static_cast<double>(synced) * kStep / seconds);
  return std::min(all, synced + std::clamp(step, kFirstBlocks, std::max(kFirstBlocks, synced)));
}

void judge_pace(Finding& found, const Pace& pace, const char* doing) {
  if (!stood_still(pace.mb, pace.seconds)) return;
  const std::string took = fmt::format("{:.0f} MB took {:.0f} s to {} ({:.2g} MB/s)", pace.mb, pace.seconds,
                                       doing, pace.mb / pace.seconds);
  if (pace.unwritten_mb < kMuchUnwritten) {
    found.crawls = true;
    found.detail = took;
  } else if (!found.crawls) {
    found.detail = took + fmt::format(", with {:.0f} MB of others to be written", pace.unwritten_mb);
  }
}

}  // namespace sickbay::verify
