// SPDX-License-Identifier: Apache-2.0
#include "model/task_ids.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TaskIds ids_in(std::string_view text) {
  auto parsed = TaskIds::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(TaskIds());
}

TEST(TaskIds, ReadsWhatSbatchTakesAndSlurmPrints) {
  struct Row {
    const char *text, *again;
    std::size_t size;
  };
  for (const Row& row : {Row{"0", "0", 1}, Row{"0-19%4", "0-19", 20}, Row{"0-15:4", "0,4,8,12", 4},
                         Row{"1,3,5,7", "1,3,5,7", 4}, Row{"[3-4,9%2]", "3-4,9", 3}, Row{"5,4,3", "3-5", 3},
                         Row{"0-9,4-12,14", "0-12,14", 14}, Row{"7,7", "7", 1}, Row{" 2-3 ", "2-3", 2},
                         Row{"0-4000000", "0-4000000", 4000001}}) {
    EXPECT_EQ(ids_in(row.text).text(), row.again) << row.text;
    EXPECT_EQ(ids_in(row.text).size(), row.size) << row.text;
    EXPECT_EQ(ids_in(ids_in(row.text).text()), ids_in(row.text)) << row.text;
  }
}

TEST(TaskIds, RefusesWhatIsNone) {
  for (const char* text : {"", "x", "1-", "-1", "3-1", "1,", "1:2:3", "1-5:0", "4000001", "0-99999999999",
                           "[1-3", "1-3%", "1-3%x", "1-3 4", "0-5..."})
    EXPECT_FALSE(TaskIds::parse(text)) << text;
}

TEST(TaskIds, AddsAndRemoves) {
  TaskIds set = ids_in("0-9");
  set.remove(ids_in("3,5-6,9-20"));
  EXPECT_EQ(set.text(), "0-2,4,7-8");
  set.add(ids_in("3,9"));
  EXPECT_EQ(set.text(), "0-4,7-9");
  EXPECT_TRUE(set.contains(0) && set.contains(4) && set.contains(8));
  EXPECT_FALSE(set.contains(5) || set.contains(6) || set.contains(10));
  set.remove(ids_in("0-100"));
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(ids_in("2,8").list(), (std::vector<TaskId>{2, 8}));
  EXPECT_EQ(without(ids_in("1-5"), ids_in("2")).text(), "1,3-5");
  EXPECT_EQ(without(ids_in("0-3,8-9"), ids_in("9-12")).text(), "0-3,8");
}

// Every set of six ids against every other: the ranges say what sets would.
TEST(TaskIds, EqualsASet) {
  for (unsigned a = 0; a < 64; ++a)
    for (unsigned b = 0; b < 64; ++b) {
      TaskIds first, second;
      for (unsigned bit = 0; bit < 6; ++bit) {
        if ((a >> bit & 1) != 0) first.add(5 - bit);
        if ((b >> bit & 1) != 0) second.add(bit);
      }
      TaskIds both = first;
      both.add(second);
      const TaskIds left = without(first, second);
      for (unsigned id = 0; id < 6; ++id) {
        const bool in_a = (a >> (5 - id) & 1) != 0, in_b = (b >> id & 1) != 0;
        ASSERT_EQ(both.contains(id), in_a || in_b);
        ASSERT_EQ(left.contains(id), in_a && !in_b);
      }
      if (!both.empty()) {
        ASSERT_EQ(TaskIds::parse(both.text()).value_or(TaskIds()), both);
      }
    }
}

}  // namespace
}  // namespace sickbay
