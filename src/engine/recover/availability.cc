// SPDX-License-Identifier: Apache-2.0
#include "engine/recover/availability.h"

#include <algorithm>
#include <limits>

namespace sickbay::recover {

double availability(Seconds mttf, Seconds mttr) {
  if (mttr <= Seconds(0) || mttf.count() == std::numeric_limits<double>::infinity()) return 1;
  return mttf / (mttf + mttr);
}

// Each member counts by how often it fails: MTTR = sum(m_i * MTTR_i) / sum(m_i), of the paper's Tables 1 and
// 2.
std::optional<Seconds> mttr_of(std::span<const Member> members) {
  double failures = 0;
  Seconds down{0};
  for (const Member& m : members) {
    failures += m.failures;
    down += m.failures * m.mttr;
  }
  if (failures <= 0) return std::nullopt;
  return down / failures;
}

// A group fails when any of its nodes does: rates add up, and 1 / rate is the time to failure.
std::optional<Seconds> series_mttf(std::span<const Seconds> mttf) {
  double rate = 0;
  for (const Seconds one : mttf) {
    if (one <= Seconds(0)) return std::nullopt;
    rate += 1 / one.count();
  }
  if (mttf.empty()) return std::nullopt;
  return Seconds(1 / rate);
}

Seconds serial_time(std::span<const Seconds> takes) {
  Seconds all{0};
  for (const Seconds one : takes) all += one;
  return all;
}

Seconds parallel_time(std::span<const Seconds> takes) {
  return takes.empty() ? Seconds(0) : *std::ranges::max_element(takes);
}

}  // namespace sickbay::recover
