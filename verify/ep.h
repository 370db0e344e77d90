// SPDX-License-Identifier: Apache-2.0
// The arithmetic with a known answer: Gaussian pairs of NPB's "embarrassingly parallel" kernel.
//
// Written from the published definition (NAS Parallel Benchmarks, RNR-94-007, section 2.2.1): uniform numbers
// x(k+1) = 5^13 x(k) mod 2^46 from x(0) = 271828183, pairs accepted inside the unit circle, sums of the
// resulting Gaussian deviates.  The published sums hold to 1e-8, so a processor that computes wrongly now and
// then is caught by a comparison with a constant, without a second processor to compare it with.
#pragma once
#include <array>
#include <cstdint>

namespace sickbay::verify {

/// Sums over a run of pairs; `accepted` counts the pairs inside the unit circle.
struct EpSums {
  double sx = 0;
  double sy = 0;
  std::uint64_t accepted = 0;

  EpSums& operator+=(const EpSums& more) {
    sx += more.sx;
    sy += more.sy;
    accepted += more.accepted;
    return *this;
  }
  friend bool operator==(const EpSums&, const EpSums&) = default;
};

/// A published problem size: 2^log2_pairs pairs and the sums they must give.
struct EpClass {
  char name;
  int log2_pairs;
  double sx;
  double sy;
};

inline constexpr auto kEpClasses = std::to_array<EpClass>({
    {'S', 24, -3.247834652034740e+3, -6.958407078382297e+3},
    {'W', 25, -2.863319731645753e+3, -6.320053679109499e+3},
    {'A', 28, -4.295875165629892e+3, -1.580732573678431e+4},
});
/// The published tolerance of the sums, relative.
inline constexpr double kEpTolerance = 1e-8;

/// The class called `name`, or nullptr.
const EpClass* ep_class(char name);

/// The sums of pairs [first, first + count).  Pure; about 25 million pairs a second on a core of 2020.
EpSums ep_sums(std::uint64_t first, std::uint64_t count);

}  // namespace sickbay::verify
