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
      {"gr\xc3\xb6\xc3\x9f"
       "e_\xe5\x86\x85\xe5\xad\x98",
       60,
       "'gr\xc3\xb6\xc3\x9f"
       "e_\xe5\x86\x85\xe5\xad\x98'"},
      {"\xc3", 60, "'\\xc3'"},           // no UTF-8
      {"\xc2\x9b", 60, "'\\xc2\\x9b'"},  // C1: some terminals take it for ESC [
      {"a\xe2\x80\xae"
       "b",
       60,
       "'a\\xe2\\x80\\xae"
       "b'"},  // from right to left
      {"a\xe2\x80\x8b"
       "b",
       60,
       "'a\\xe2\\x80\\x8b"
       "b'"},  // a space of no width

      {"abcdef", 6, "'abcdef'"},
      {"abcdefg", 6, "'abcdef'... (7 bytes)"},
      {"abcde\xc3\xa4", 6, "'abcde'... (7 bytes)"},
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
