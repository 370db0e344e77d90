// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Time, TextAndBack) {
  for (const char* text : {"1970-01-01T00:00:00Z", "2026-11-21T09:30:53Z", "2026-11-21T09:30:53.000001Z",
                           "2024-02-29T23:59:59.999999Z", "1969-12-31T23:59:59.500000Z"}) {
    auto t = parse_time(text);
    ASSERT_TRUE(t) << text;
    EXPECT_EQ(format_time(*t), text);
  }
}

TEST(Time, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2026-11-21", "2026-13-21T09:30:53Z", "2025-02-29T00:00:00Z", "2026-11-21T24:00:00Z",
        "2026-11-21T09:30:53", "2026-11-21 09:30:53Z", "2026-11-21T09:30:53.1Z"})
    EXPECT_FALSE(parse_time(text)) << text;
}

}  // namespace
}  // namespace sickbay
