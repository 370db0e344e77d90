// SPDX-License-Identifier: Apache-2.0
#include "base/spelling.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Spelling, CountsEdits) {
  const struct {
    const char *a, *b;
    int edits;
  } rows[] = {
      {"", "", 0},
      {"drain", "drain", 0},
      {"DRAIN", "drain", 0},
      {"drain", "drian", 1},
      {"drain", "dran", 1},
      {"drain", "drains", 1},
      {"drain", "brain", 1},
      {"", "abc", 3},
      {"ca", "abc", 3},  // no part is edited twice: not 2
      {"abcdef", "uvwxyz", 6},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(edit_distance(row.a, row.b, 9), row.edits) << row.a << " " << row.b;
    EXPECT_EQ(edit_distance(row.b, row.a, 9), row.edits) << row.b << " " << row.a;
  }
  EXPECT_EQ(edit_distance("abcdef", "uvwxyz", 2), 3);
  EXPECT_EQ(edit_distance("a", "abcdef", 2), 3);
}

TEST(Spelling, FindsTheNearestWord) {
  const std::vector<std::string> words = {"time_limit", "time_limits", "nodes", "node", "on", "spare_wait"};
  const struct {
    const char *word, *meant;
  } rows[] = {
      {"time_limti", "time_limit"},
      {"TimeLimit", "time_limit"},
      {"nods", "nodes"},  // one edit to nodes and to node: the first of the list
      {"nodse", "nodes"},
      {"no", "on"},
      {"spear_wait", "spare_wait"},

      {"x", ""},
      {"", ""},
      {"zz", ""},
      {"partition", ""},
  };
  for (const auto& row : rows) EXPECT_EQ(did_you_mean(row.word, words), row.meant) << row.word;
  EXPECT_EQ(did_you_mean(std::string(1000, 'a'), {"aaa"}), "");
  EXPECT_EQ(did_you_mean("aaa", {std::string_view()}), "");
}

}  // namespace
}  // namespace sickbay
