// SPDX-License-Identifier: Apache-2.0
#include "ckpt/engines.h"

#include <gtest/gtest.h>

namespace sickbay::ckpt {
namespace {

TEST(Engines, SayWhatTheyWouldNeed) {
  EXPECT_TRUE(check_engine("application"));
  for (const Engine& one : engines()) {
    const auto checked = check_engine(one.name);
    EXPECT_EQ(checked.has_value(), one.needs.empty()) << one.name;
    if (checked) continue;
    EXPECT_EQ(checked.error().code, ErrorCode::missing_program);
    EXPECT_NE(checked.error().cause.find(one.needs), std::string::npos) << checked.error().cause;
    EXPECT_FALSE(checked.error().remedy().empty());
  }
  for (const char* none : {"", "dmtpc", "CRIU", "application "}) {
    const auto checked = check_engine(none);
    ASSERT_FALSE(checked) << none;
    EXPECT_EQ(checked.error().code, ErrorCode::usage) << none;
  }
}

}  // namespace
}  // namespace sickbay::ckpt
