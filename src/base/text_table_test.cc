// SPDX-License-Identifier: Apache-2.0
#include "base/text_table.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

using Lines = std::vector<std::string>;
using enum TextTable::Column::Align;

TEST(TextTable, CountsColumns) {
  const struct {
    std::string_view text;
    int width;
  } rows[] = {
      {"", 0},
      {"n[1-3]", 6},
      {"\xc3\xa4", 1},
      {"a\xcc\x88", 1},         // a + combining diaeresis
      {"\xe7\xaf\x80", 2},      // wide
      {"\xf0\x9f\x98\x80", 2},  // emoji
      {"\xff\xc3", 2},
      {"\xc0\x80", 2},  // no UTF-8
  };
  for (const auto& row : rows) EXPECT_EQ(display_width(row.text), row.width) << row.text;
}

TEST(TextTable, MakesTextHarmless) {
  const struct {
    std::string_view text;
    const char* safe;
  } rows[] = {
      {"ok \xc3\xa4", "ok \xc3\xa4"},
      {"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
      {std::string_view("a\0b\n\t\x7f", 6), "a\\x00b\\n\\t\\x7f"},
      {"\xc2\x9b"
       "2J",
       "\\x9b2J"},  // CSI as one C1 character
      {"\xff\xe2\x82", "\\xff\\xe2\\x82"},
  };
  for (const auto& row : rows) EXPECT_EQ(for_terminal(row.text), row.safe);
}

TEST(TextTable, Wraps) {
  EXPECT_EQ(wrapped("", 10), Lines{""});
  EXPECT_EQ(wrapped("one two three", 0), Lines{"one two three"});
  EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("one two three", 8), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("one two three", 6), (Lines{"one", "two", "three"}));
  EXPECT_EQ(wrapped("n[1,3,5,7,9]", 6), (Lines{"n[1,3,", "5,7,9]"}));
  EXPECT_EQ(wrapped("abcdefgh", 3), (Lines{"abc", "def", "gh"}));
  EXPECT_EQ(wrapped("\xe7\xaf\x80\xe7\xaf\x80", 3), (Lines{"\xe7\xaf\x80", "\xe7\xaf\x80"}));
  EXPECT_EQ(wrapped("\xe7\xaf\x80", 1), Lines{"\xe7\xaf\x80"});  // wider than the line: goes out all the same
}

TEST(TextTable, LinesUp) {
  TextTable table({{"NODE"}, {"JOBS", right}, {"EMPTY"}, {"REASON"}});
  table.add({"n1", "1", "", "x"}).add({"\xc3\xa4\xc3\xb6-long", "200"});
  EXPECT_EQ(table.text(),
            "NODE     JOBS  REASON\n"
            "n1          1  x\n"
            "\xc3\xa4\xc3\xb6-long   200\n");
}

TEST(TextTable, WrapsWhereThePageIsNarrow) {
  TextTable table({{"NODE"}, {"REASON", left, true}, {"RUN"}});
  table.add({"n1", "wrong sum in the memory test", "c1.v1"});
  EXPECT_EQ(table.text({.width = 30, .indent = 2}),
            "  NODE  REASON           RUN\n"
            "  n1    wrong sum in     c1.v1\n"
            "        the memory test\n");
  // What may not wrap stays whole, however narrow the page.
  EXPECT_EQ(table.text({.width = 10, .header = false}),
            "n1  wrong     c1.v1\n"
            "    sum in\n"
            "    the\n"
            "    memory\n"
            "    test\n");
}

TEST(TextTable, PaintsOnlyWhereAsked) {
  TextTable table({{"NODE"}, {"RESULT"}});
  table.add({"n1", TextTable::Cell("failed", "31")});
  EXPECT_EQ(table.text(), "NODE  RESULT\nn1    failed\n");
  EXPECT_EQ(table.text({.colours = true}),
            "\x1b[1mNODE\x1b[0m  \x1b[1mRESULT\x1b[0m\nn1    \x1b[31mfailed\x1b[0m\n");
}

TEST(TextTable, HeaderAloneWithoutRows) {
  EXPECT_EQ(TextTable({{"A"}, {"B"}}).text(), "A  B\n");
  EXPECT_EQ(TextTable({{"A"}, {"B"}}).text({.header = false}), "");
}

}  // namespace
}  // namespace sickbay
