// SPDX-License-Identifier: Apache-2.0
#include "model/checkpoint_interval.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(CheckpointInterval, YoungAndDaly) {
  EXPECT_DOUBLE_EQ(young_interval(0.5, 16), 4);
  // His formula, by hand: x = 1/64, 4 (1 + 1/8/3 + 1/64/9) - 0.5.
  EXPECT_NEAR(daly_interval(0.5, 16), 4 * (1 + 1.0 / 24 + 1.0 / 576) - 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(daly_interval(10, 4), 4);
}

}  // namespace
}  // namespace sickbay
