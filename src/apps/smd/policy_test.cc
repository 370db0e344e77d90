// SPDX-License-Identifier: Apache-2.0
#include "apps/smd/policy.h"

#include <gmock/gmock.h>

namespace sickbay::smd {
namespace {

using Kind = PolicyStep::Kind;
using ::testing::HasSubstr;

TEST(Policy, IsReadAsThePaperHasIt) {
  struct Row {
    std::string text, means;
  };
  for (const Row& row : std::vector<Row>{
           {"REPLACE", "REPLACE"},
           {"REPLACE:TIME_LIMIT_DELAY=4:EXIT_JOB", "REPLACE:TIME_LIMIT_DELAY=4:EXIT_JOB"},
           {"REPLACE:TIME_LIMIT_DELAY=4:DROP:TIME_LIMIT_DROP=10",
            "REPLACE:TIME_LIMIT_DELAY=4:DROP:TIME_LIMIT_DROP=10"},
           {"REPLACE:TIME_LIMIT_DELAY=1:DROP:TIME_LIMIT_DROP=30",
            "REPLACE:TIME_LIMIT_DELAY=1:DROP:TIME_LIMIT_DROP=30"},
           {"REPLACE:TIME_LIMIT_EXTEND=2", "REPLACE:TIME_LIMIT_EXTEND=2"},
           {"EXIT_JOB", "EXIT_JOB"},
           {"DROP", "DROP"},

           // `4`, `4min`, and what people write.
           {"REPLACE:TIME_LIMIT_DELAY=4min", "REPLACE:TIME_LIMIT_DELAY=4"},
           {"REPLACE:TIME_LIMIT_DELAY=4MIN", "REPLACE:TIME_LIMIT_DELAY=4"},
           {"REPLACE:TIME_LIMIT_DELAY= 4 min ", "REPLACE:TIME_LIMIT_DELAY=4"},
           {"replace:Drop", "REPLACE:DROP"},
           {" REPLACE : DROP ", "REPLACE:DROP"},
           {":REPLACE::DROP:", "REPLACE:DROP"},
           {"REPLACE:TIME_LIMIT_DELAY=0:DROP", "REPLACE:DROP"},
           {"REPLACE:TIME_LIMIT_DELAY=525600", "REPLACE:TIME_LIMIT_DELAY=525600"},

           // A value belongs to its word wherever it stands; steps keep their order.
           {"TIME_LIMIT_DELAY=4:REPLACE", "REPLACE:TIME_LIMIT_DELAY=4"},
           {"REPLACE:DROP:TIME_LIMIT_DROP=10:TIME_LIMIT_DELAY=4",
            "REPLACE:TIME_LIMIT_DELAY=4:DROP:TIME_LIMIT_DROP=10"},
           {"REPLACE:EXIT_JOB:TIME_LIMIT_DELAY=4", "REPLACE:TIME_LIMIT_DELAY=4:EXIT_JOB"},
           {"DROP:REPLACE", "DROP:REPLACE"},
       }) {
    const auto policy = parse_policy(row.text, "V");
    ASSERT_TRUE(policy) << policy.error().message("test");
    EXPECT_EQ(format_policy(*policy), row.means) << row.text;
    const auto again = parse_policy(format_policy(*policy), "V");
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *policy);
  }
}

TEST(Policy, WhatCannotBeReadIsRefusedWithCauseAndRemedy) {
  struct Row {
    std::string text, what, remedy;
  };
  for (const Row& row : std::vector<Row>{
           {"", "says nothing", "unset it"},
           {" : ", "says nothing", "unset it"},
           {"REPLCE", "unknown word 'REPLCE'", "did you mean REPLACE?"},
           {"REPLACE,DROP", "unknown word 'REPLACE,DROP'", "write it as in SMD_NONSTOP_FAILED="},
           {"REPLACE:TIME_LIMIT_DELY=4", "unknown word 'TIME_LIMIT_DELY'", "did you mean TIME_LIMIT_DELAY?"},
           {"EXITJOB", "unknown word 'EXITJOB'", "did you mean EXIT_JOB?"},
           {"\x01\xff", "unknown word '\\x01\\xff'", "write it"},
           {"=4", "unknown word ''", "write it"},
           {"REPLACE:REPLACE", "REPLACE is there twice", "leave one"},
           {"REPLACE:TIME_LIMIT_DELAY=1:TIME_LIMIT_DELAY=2", "TIME_LIMIT_DELAY is there twice", "leave one"},
           {"REPLACE=4", "'REPLACE=4' has a value", "write REPLACE"},
           {"EXIT_JOB:DROP", "DROP stands behind EXIT_JOB", "move EXIT_JOB to the end"},
           {"DROP:TIME_LIMIT_DELAY=4", "TIME_LIMIT_DELAY without REPLACE", "add REPLACE"},
           {"DROP:TIME_LIMIT_EXTEND=4", "TIME_LIMIT_EXTEND without REPLACE", "add REPLACE"},
           {"REPLACE:TIME_LIMIT_DROP=4", "TIME_LIMIT_DROP without DROP", "add DROP"},
           {"REPLACE:TIME_LIMIT_DELAY", "no number of minutes", "write TIME_LIMIT_DELAY=4"},
           {"REPLACE:TIME_LIMIT_DELAY=", "no number of minutes", "write TIME_LIMIT_DELAY=4"},
           {"REPLACE:TIME_LIMIT_DELAY=min", "no number of minutes", "write TIME_LIMIT_DELAY=4"},
           {"REPLACE:TIME_LIMIT_DELAY=-4", "no number of minutes", "write TIME_LIMIT_DELAY=4"},
           {"REPLACE:TIME_LIMIT_DELAY=4h", "no number of minutes", "write TIME_LIMIT_DELAY=4"},
           {"REPLACE:TIME_LIMIT_DELAY=4.5", "no number of minutes", "write TIME_LIMIT_DELAY=4"},
           {"REPLACE:TIME_LIMIT_DELAY=525601", "no number of minutes", "write TIME_LIMIT_DELAY=4"},
           {"REPLACE:TIME_LIMIT_DELAY=99999999999999999999", "no number of minutes",
            "write TIME_LIMIT_DELAY=4"},
       }) {
    const auto policy = parse_policy(row.text, "SMD_NONSTOP_FAILED");
    ASSERT_FALSE(policy) << row.text;
    EXPECT_EQ(policy.error().code, ErrorCode::bad_input);
    EXPECT_THAT(policy.error().what, HasSubstr("SMD_NONSTOP_FAILED: ")) << row.text;
    EXPECT_THAT(policy.error().what, HasSubstr(row.what)) << row.text;
    EXPECT_FALSE(policy.error().cause.empty()) << row.text;
    EXPECT_THAT(policy.error().remedy_text, HasSubstr(row.remedy)) << row.text;
  }
}

// Every list of up to three words, with good and bad values: what is taken says of itself what it is.
TEST(Policy, EveryShortListIsTakenOrRefused) {
  const std::vector<std::string> words = {"REPLACE",
                                          "DROP",
                                          "EXIT_JOB",
                                          "TIME_LIMIT_DELAY=3",
                                          "TIME_LIMIT_EXTEND=3min",
                                          "TIME_LIMIT_DROP=x",
                                          "TIME_LIMIT_DROP=5",
                                          "WAIT",
                                          ""};
  int taken = 0, refused = 0;
  for (const std::string& a : words)
    for (const std::string& b : words)
      for (const std::string& c : words) {
        const std::string text = a + ":" + b + ":" + c;
        const auto policy = parse_policy(text, "V");
        if (!policy) {
          ++refused;
          EXPECT_FALSE(policy.error().remedy_text.empty()) << text;
          continue;
        }
        ++taken;
        EXPECT_FALSE(policy->steps.empty()) << text;
        EXPECT_EQ(text.find("WAIT"), std::string::npos) << text;
        EXPECT_EQ(text.find('x'), std::string::npos) << text;
        const auto again = parse_policy(format_policy(*policy), "V");
        ASSERT_TRUE(again) << text;
        EXPECT_EQ(*again, *policy) << text;
        EXPECT_GE(describe_policy(*policy).size(), policy->steps.size());
        for (const PolicyStep& step : policy->steps)
          EXPECT_TRUE(step.kind == Kind::replace || step.delay == 0) << text;
      }
  EXPECT_GT(taken, 60);
  EXPECT_GT(refused, 300);
}

TEST(Policy, IsToldInWords) {
  EXPECT_THAT(
      describe_policy(*parse_policy("REPLACE:TIME_LIMIT_DELAY=4:TIME_LIMIT_EXTEND=2:DROP:EXIT_JOB", "V")),
      ::testing::ElementsAre(
          "replace the nodes, waiting up to 4 minutes, and extend the time limit by 2 minutes for each",
          "drop the nodes", "end the job"));
  EXPECT_THAT(describe_policy(*parse_policy("REPLACE", "V")),
              ::testing::ElementsAre("replace the nodes", "where nodes are still left: end the job"));
}

}  // namespace
}  // namespace sickbay::smd
