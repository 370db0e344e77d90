// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Text, QuotesForOneLine) {
  const struct {
    std::string_view bytes;
    std::size_t most;
    const char* quoted;
  } rows[] = {
      {"", 60, "''"},
      {"n[1-3]", 60, "'n[1-3]'"},
      {"a\nb\tc", 60, "'a\\nb\\tc'"},
      {"it's", 60, "'it\\'s'"},
      {"C:\\", 60, "'C:\\\\'"},
      {std::string_view("\0\x1b[31m\x7f", 7), 60, "'\\x00\\x1b[31m\\x7f'"},
      {"\xc3\xa4", 60, "'\\xc3\\xa4'"},

      {"abcdef", 6, "'abcdef'"},
      {"abcdefg", 6, "'abcdef'... (7 bytes)"},
  };
  for (const auto& row : rows) EXPECT_EQ(quote_for_message(row.bytes, row.most), row.quoted);
}

TEST(Text, ComparesWithoutCase) {
  EXPECT_TRUE(equal_ignoring_case("UNLIMITED", "Unlimited"));
  EXPECT_TRUE(equal_ignoring_case("", ""));
  EXPECT_FALSE(equal_ignoring_case("UNLIMITED", "UNLIMITE"));
  EXPECT_FALSE(equal_ignoring_case("[", "{"));  // 32 apart, as A and a are
}

TEST(Text, Trims) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n "), "");
  EXPECT_EQ(trimmed(""), "");
}

}  // namespace
}  // namespace sickbay
