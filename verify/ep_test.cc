// SPDX-License-Identifier: Apache-2.0
// The published sums, and that a slice may start anywhere.
#include "ep.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sickbay::verify {
namespace {

TEST(Ep, GivesThePublishedSums) {
  for (const char name : {'S', 'W'}) {  // A takes ten seconds; it is checked by each run that asks for it
    const EpClass* size = ep_class(name);
    ASSERT_NE(size, nullptr) << name;
    const EpSums sums = ep_sums(0, std::uint64_t{1} << size->log2_pairs);
    EXPECT_LE(std::abs((sums.sx - size->sx) / size->sx), kEpTolerance) << name;
    EXPECT_LE(std::abs((sums.sy - size->sy) / size->sy), kEpTolerance) << name;
  }
  EXPECT_EQ(ep_class('Q'), nullptr);
}

TEST(Ep, SlicesAddUpToTheWhole) {
  constexpr std::uint64_t kPairs = 100'000;
  const EpSums whole = ep_sums(0, kPairs);
  for (const std::uint64_t cut : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{33'333}, kPairs}) {
    EpSums parts = ep_sums(0, cut);
    parts += ep_sums(cut, kPairs - cut);
    EXPECT_EQ(parts.accepted, whole.accepted) << cut;
    EXPECT_NEAR(parts.sx, whole.sx, 1e-7) << cut;
    EXPECT_NEAR(parts.sy, whole.sy, 1e-7) << cut;
  }
}

}  // namespace
}  // namespace sickbay::verify
