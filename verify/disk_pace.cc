// SPDX-License-Identifier: Apache-2.0
#include "disk_pace.h"

#include <fmt/format.h>

namespace sickbay::verify {
namespace {

constexpr double kLong = 30, kLittle = 0.5;  // seconds; MB/s: the slowest flash card does twenty times that
constexpr double kMuchUnwritten = 64;        // MB

}  // namespace

bool stood_still(double mb, double seconds) { return seconds >= kLong && mb < kLittle * seconds; }

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
