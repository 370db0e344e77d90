// SPDX-License-Identifier: Apache-2.0
#include "model/leaving.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Leaving, WhatIsPrintedIsReadAgain) {
  for (const std::int64_t us : {std::int64_t{1}, std::int64_t{1764086400123456}, INT64_MAX}) {
    const auto read = parse_leaving(format_leaving(from_micros(us)));
    ASSERT_TRUE(read) << us;
    EXPECT_EQ(to_micros(*read), us);
  }
}

TEST(Leaving, WhatIsNotIsNone) {
  for (const char* text :
       {"", "\n", "1", "0\n", "-5\n", "+5\n", "05\n", " 5\n", "5 \n", "5\n\n", "5\r\n", "5\n6\n", "5us\n",
        "0x5\n", "5.0\n", "9223372036854775808\n", "99999999999999999999999\n", "soon\n"})
    EXPECT_FALSE(parse_leaving(text)) << text;
  EXPECT_FALSE(parse_leaving(std::string_view("5\0\n", 3)));
}

}  // namespace
}  // namespace sickbay
