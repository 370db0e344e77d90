// SPDX-License-Identifier: Apache-2.0
#include "model/output_compare.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(OutputCompare, WordsAndNumbers) {
  const struct {
    const char *what, *reference, *other, *tolerance;
    bool same;
  } rows[] = {
      {"the same bytes", "residual 1.5\n", "residual 1.5\n", "0", true},
      {"nothing", "", "", "0", true},
      {"another word", "converged\n", "diverged\n", "0", false},
      {"a word and none", "converged\n", "converged early\n", "0", false},
      {"blanks", "a  b\t c\r\n", "a b c\n", "0", true},
      {"empty lines at the end", "a\n\n \n", "a", "0", true},
      {"an empty line in between", "a\n\nb\n", "a\nb\n", "0", false},
      {"a line more", "a\n", "a\nb\n", "1", false},
      {"a line less", "a\nb\n", "a\n", "1", false},

      {"the same value", "1.50 +2 3e2\n", "1.5 2.0 300\n", "0", true},
      {"Fortran's exponent", "0.1500D+02\n", "15\n", "0", true},
      {"one digit", "1.0000001\n", "1.0000002\n", "0", false},
      {"within the relative one", "1.0000001\n", "1.0000002\n", "1e-6", true},
      {"just outside", "100\n", "102\n", "1e-2", false},
      {"just inside", "100\n", "101\n", "1e-2", true},
      {"near nothing a relative one says little", "0.0\n", "1e-17\n", "1e-6", false},
      {"the absolute one", "0.0\n", "1e-17\n", "1e-6,1e-12", true},
      {"another sign", "1e-3\n", "-1e-3\n", "1e-2", false},
      {"a sign behind a word is one", "x=-4\n", "x=4\n", "0.1", false},
      {"a number that is none any more", "1.5\n", "nan\n", "0.1", false},
      {"both none", "nan\n", "nan\n", "0", true},
      {"too large for a number", "1e999\n", "1e999\n", "0", true},
      {"a number for a word", "1\n", "one\n", "0.1", false},

      {"numbers in words are words", "n12 ok\n", "n13 ok\n", "0.5", false},
      {"no number begins in a word", "v1.5a\n", "v1.6a\n", "0.5", false},
      {"hexadecimal is a word", "0x1f\n", "0x2f\n", "0.9", false},
      {"in brackets", "(1.0, 2.0)\n", "(1.01, 1.99)\n", "0.05", true},
      {"a range is no difference", "3-4\n", "3-5\n", "0.01", false},
      {"a percentage", "99.1%\n", "99.2%\n", "0.01", true},
      {"a dot alone", "a . b\n", "a . b\n", "0", true},
  };
  for (const auto& row : rows) {
    const auto tolerance = parse_tolerance(row.tolerance);
    ASSERT_TRUE(tolerance) << row.what;
    EXPECT_EQ(compare_outputs(row.reference, row.other, {*tolerance, {}}).same(), row.same) << row.what;
    EXPECT_EQ(compare_outputs(row.other, row.reference, {*tolerance, {}}).same(), row.same)
        << row.what << ", the other way round";
  }
}

TEST(OutputCompare, SaysWhereTheyDiffer) {
  const auto c = compare_outputs("step 1\nsum 2.5\n", "step 1\nsum 2.6\nmore\n");
  ASSERT_EQ(c.different_lines, 2u);
  EXPECT_EQ(c.first[0].line, 2u);
  EXPECT_EQ(c.first[0].reference, "2.5");
  EXPECT_EQ(c.first[0].other, "2.6");
  EXPECT_EQ(c.first[1].line, 3u);
  EXPECT_EQ(c.first[1].other, "more");
  // A few are told, all are counted.
  std::string a, b;
  for (int i = 0; i < 100; ++i) a += "1\n", b += "2\n";
  EXPECT_EQ(compare_outputs(a, b).different_lines, 100u);
  EXPECT_EQ(compare_outputs(a, b).first.size(), 5u);
}

TEST(OutputCompare, TolerancesAreRead) {
  for (const char* bad : {"", ",", "1,", ",1", "-1", "x", "1e-6,", "1;2", "1e-6,-1", "1 2", "nan", "inf"})
    EXPECT_FALSE(parse_tolerance(bad)) << bad;
  const auto both = parse_tolerance("1e-6,0.5");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->relative, 1e-6);
  EXPECT_EQ(both->absolute, 0.5);
}

// Two good runs, and further ones.
TEST(OutputRules, LearnWhatAProgramPrintsAnewEachTime) {
  const char* first =
      "started Mon Nov 23 13:54:01 2026 on n1\nseed "
      "182736\nresidual 1.23456789e-08\nsum 42\ntime 12.5 s\n";
  const char* second =
      "started Mon Nov 23 14:02:59 2026 on n5\nseed "
      "5\nresidual 1.23456790e-08\nsum 42\ntime 13.9 s\n";
  const auto rules = learn_output_rules(first, second);
  ASSERT_TRUE(rules);
  EXPECT_TRUE(compare_outputs(first, second, *rules).same());
  const struct {
    const char *what, *line;
    bool same;
    std::size_t at;
  } rows[] = {
      {"another time", "started Mon Nov 23 09:11:30 2026 on n8", true, 0},
      {"another seed", "seed 99", true, 1},
      {"no seed", "seed", false, 1},
      {"rounding", "residual 1.23456785e-08", true, 2},
      {"another residual", "residual 1.3e-08", false, 2},
      {"a wrong sum", "sum 43", false, 3},
      {"another duration", "time 7.0 s", true, 4},
      {"in another unit", "time 7.0 ms", false, 4},
  };
  for (const auto& row : rows) {
    std::string text;
    std::size_t at = 0;
    for (std::string_view rest = first; !rest.empty(); ++at) {
      const std::size_t end = rest.find('\n');
      text += at == row.at ? std::string(row.line) + "\n" : std::string(rest.substr(0, end + 1));
      rest.remove_prefix(end + 1);
    }
    EXPECT_EQ(compare_outputs(first, text, *rules).same(), row.same) << row.what;
  }
}

TEST(OutputRules, ALineOfAnotherLengthIsFree) {
  const auto rules = learn_output_rules("nodes n1\nsum 1\n", "nodes n1 n2\nsum 1\n");
  ASSERT_TRUE(rules);
  EXPECT_TRUE(compare_outputs("nodes n1\nsum 1\n", "nodes n7 n8 n9\nsum 1\n", *rules).same());
  EXPECT_FALSE(compare_outputs("nodes n1\nsum 1\n", "nodes n7\nsum 2\n", *rules).same());
}

TEST(OutputRules, OfDifferentNumbersOfLinesAreNotLearned) {
  const auto rules = learn_output_rules("a\n", "a\nb\n");
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().code, ErrorCode::conflict);
}

}  // namespace
}  // namespace sickbay
