// SPDX-License-Identifier: Apache-2.0
#include "model/ids.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Ids, TextAndBack) {
  for (const char* text : {"c1.r1", "c17.r2", "c17.k2", "c9007199254740993.v12"}) {
    auto id = parse_run_id(text);
    ASSERT_TRUE(id) << text;
    EXPECT_EQ(id->text(), text);
  }
  EXPECT_EQ(*parse_case_name("c17"), 17);
  EXPECT_EQ(*parse_finding_name(finding_name(9)), 9);
  EXPECT_EQ(node_subject("n3"), "node:n3");
  EXPECT_EQ(node_of_subject("node:n3"), "n3");
  for (const char* text : {"", "node:", "n3", "c17", "cluster", "nodes:n3"})
    EXPECT_EQ(node_of_subject(text), "") << text;
}

TEST(Ids, TasksOfArrays) {
  for (const char* text : {"1234_7", "1_0", "4294967295_4000000"}) {
    auto name = parse_task_name(text);
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(name->text(), text);
  }
  for (const char* text : {"", "1234", "1234_", "_7", "1234_07", "1234_[1-3]", "1234_7_8", "1234_7.0", "0_1",
                           "x_1", "4294967296_1"})
    EXPECT_FALSE(parse_task_name(text)) << text;
}

TEST(Ids, RoundsOfVerification) {
  EXPECT_EQ(parse_patrol_name("p3").value_or(0), 3);
  EXPECT_EQ(patrol_name(3), "p3");
  for (const char* text : {"p3.v1", "p12.v345"}) EXPECT_EQ(parse_patrol_run(text)->text(), text);
  for (const char* text : {"", "p", "p0", "c3", "p3 "}) EXPECT_FALSE(parse_patrol_name(text)) << text;
  for (const char* text : {"", "p3", "p3.", "p3.v", "p3.v0", "p3.r1", "p3.v1.a1", "c3.v1", "p3.v1 "})
    EXPECT_FALSE(parse_patrol_run(text)) << text;
}

TEST(Ids, Recoveries) {
  EXPECT_EQ(parse_recovery_name("r3").value_or(0), 3);
  EXPECT_EQ(recovery_name(12), "r12");
  for (const char* text : {"", "r", "r0", "r03", "c3", "r3.s1", "r3 ", "c17.r2"})
    EXPECT_FALSE(parse_recovery_name(text)) << text;
}

TEST(Ids, RefusesOtherTexts) {
  for (const char* text : {"", "c", "c0", "c01", "17", "c17x", "c-1", "c99999999999999999999", "C17"})
    EXPECT_FALSE(parse_case_name(text)) << text;
  for (const char* text : {"", "c17", "c17.", "c17.r", "c17.x1", "c17.r0", "c17.r1.a1", "c17.r2 "})
    EXPECT_FALSE(parse_run_id(text)) << text;
  for (const char* text : {"", "f", "f0", "c9", "f9 ", "f-1"}) EXPECT_FALSE(parse_finding_name(text)) << text;
  for (const char* text : {"", "job:", "job:0", "job:x", "job:17 ", "job:99999999999", "j17", "node:17"})
    EXPECT_FALSE(parse_job_subject(text)) << text;
  for (const char* text : {"", "0", "017", "x", "17 ", "-1", "17.0", "4294967296", "12345678901234567890"})
    EXPECT_EQ(parse_job_id(text).error().what, "'" + std::string(text) + "' is not a job id");
  EXPECT_EQ(parse_job_id("4294967295"), JobId{4294967295});
  EXPECT_EQ(parse_job_subject(job_subject(17)), JobId{17});
}

}  // namespace
}  // namespace sickbay
