// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/interrupts.h"

#include <gtest/gtest.h>

#include <csignal>

namespace sickbay::cli {
namespace {

TEST(Interrupts, ASignalEndsTheWaitAndNotTheProcess) {
  const Interrupts interrupts;
  EXPECT_TRUE(interrupts.wait(std::chrono::microseconds(1)));
  ASSERT_EQ(raise(SIGINT), 0);
  EXPECT_FALSE(interrupts.wait(std::chrono::hours(1)));
  ASSERT_EQ(raise(SIGTERM), 0);  // left for the destructor, which takes it away
}

}  // namespace
}  // namespace sickbay::cli
