// SPDX-License-Identifier: Apache-2.0
// The generator and the sums.  All products are taken modulo 2^64 first: 2^46 divides 2^64, so the low 46
// bits are right without wider arithmetic.
#include "ep.h"

#include <cmath>

namespace sickbay::verify {
namespace {

constexpr std::uint64_t kMultiplier = 1220703125;  // 5^13
constexpr std::uint64_t kSeed = 271828183;
constexpr std::uint64_t kMask = (std::uint64_t{1} << 46) - 1;
constexpr double kScale = 1.0 / static_cast<double>(std::uint64_t{1} << 46);

/// x(n), by squaring the multiplier: this is what lets any slice start anywhere.
std::uint64_t generator_at(std::uint64_t n) {
  std::uint64_t x = kSeed;
  for (std::uint64_t power = kMultiplier; n != 0; n >>= 1, power = power * power & kMask)
    if (n & 1) x = x * power & kMask;
  return x;
}

}  // namespace

const EpClass* ep_class(char name) {
  for (const EpClass& row : kEpClasses)
    if (row.name == name) return &row;
  return nullptr;
}

EpSums ep_sums(std::uint64_t first, std::uint64_t count) {
  EpSums sums;
  std::uint64_t x = generator_at(2 * first);
  for (std::uint64_t i = 0; i < count; ++i) {
    x = x * kMultiplier & kMask;
    const double a = 2 * (static_cast<double>(x) * kScale) - 1;
    x = x * kMultiplier & kMask;
    const double b = 2 * (static_cast<double>(x) * kScale) - 1;
    const double t = a * a + b * b;
    if (t > 1) continue;
    const double factor = std::sqrt(-2 * std::log(t) / t);
    sums.sx += a * factor;
    sums.sy += b * factor;
    ++sums.accepted;
  }
  return sums;
}

}  // namespace sickbay::verify
