// SPDX-License-Identifier: Apache-2.0
// Random: numbers of the simulations, the same on every machine for the same seed.
//
// splitmix64 (Steele, Lea and Flood 2014): eight bytes, so that every node of a simulated cluster has its
// own. The distributions stand here and not in <random>, whose results differ between standard libraries: a
// plan that was printed must be printed again.
#pragma once
#include <cmath>
#include <cstdint>

namespace sickbay::plan {

class Random {
 public:
  /// Streams of one seed do not depend on each other: a replication is a stream, and so is a node of it.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mixed(seed + 0x9e3779b97f4a7c15U) ^
               mixed(stream * 0xd1342543de82ef95U + 0x2545f4914f6cdd1dU)) {}

  std::uint64_t bits() { return mixed(state_ += 0x9e3779b97f4a7c15U); }
  /// Over 0, at most 1.
  double uniform() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }
  /// From 0 to `most` - 1; `most` over 0.
  std::uint64_t below(std::uint64_t most) {
    const auto got = static_cast<std::uint64_t>((1 - uniform()) * static_cast<double>(most));
    return got < most ? got : most - 1;
  }
  /// Of mean 1.
  double exponential() { return -std::log(uniform()); }
  double normal() {
    const double radius = std::sqrt(2 * exponential());
    return radius * std::cos(6.283185307179586 * uniform());
  }
  /// Gamma with scale 1 (Marsaglia and Tsang 2000).
  double gamma(double shape) {
    if (shape < 1) return gamma(shape + 1) * std::pow(uniform(), 1 / shape);
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    while (true) {
      const double x = normal(), cube = 1 + c * x;
      if (cube <= 0) continue;
      const double v = cube * cube * cube;
      if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
  }

 private:
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace sickbay::plan
