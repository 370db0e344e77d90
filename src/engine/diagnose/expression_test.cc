// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/expression.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/diagnose/diagnose_test_parts.h"
#include "engine/diagnose/truth.h"

namespace sickbay::diagnose {
namespace {

const std::map<std::string, ValueType, std::less<>> kTypes = {
    {"n", ValueType::integer}, {"used", ValueType::percent}, {"f", ValueType::fraction},
    {"b", ValueType::boolean}, {"c", ValueType::boolean},    {"ch", ValueType::character},
    {"s", ValueType::string},  {"t", ValueType::text},       {"free_memory", ValueType::integer}};

Result<Expression> parse(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [name, type] : kTypes) names.push_back(name);
  return parse_expression(
      text,
      [](std::string_view name) -> std::optional<ValueType> {
        const auto at = kTypes.find(name);
        if (at == kTypes.end()) return std::nullopt;
        return at->second;
      },
      names);
}

// The atoms of an expression, and its logic as words.
std::string shown(const Expression& e) {
  constexpr std::string_view kWords[] = {"", "", "not", "and", "or", "xor", "choice"};
  std::string out;
  for (const LogicNode& node : e.tree) {
    if (node.kind == LogicNode::Kind::unless_no || node.kind == LogicNode::Kind::unless_yes) continue;
    if (!out.empty()) out += ' ';
    if (node.kind == LogicNode::Kind::atom)
      out += "[" + e.atoms[node.number].text + "]";
    else if (node.kind == LogicNode::Kind::constant)
      out += node.number != 0 ? "true" : "false";
    else
      out += kWords[static_cast<std::size_t>(node.kind)];
  }
  return out;
}

TEST(Expression, IsCutIntoLogicAndAtoms) {
  const struct {
    std::string_view text;
    std::string_view shown;
  } rows[] = {
      {"b", "[b]"},
      {"true", "true"},
      {"n != 8589934592", "[n!==8589934592]"},
      {"used > 99", "[used>99]"},
      {"s == \"quick\"", "[s===\"quick\"]"},
      {"s === 'it\\'s'", "[s===\"it's\"]"},

      // Words and signs of the same meaning, and their order.
      {"b AND c", "[b] [c] and"},
      {"b && c || n == 1", "[b] [c] and [n===1] or"},
      {"b OR c AND n == 1", "[b] [c] [n===1] and or"},
      {"b XOR c AND n == 1", "[b] [c] [n===1] and xor"},
      {"b OR c XOR n == 1", "[b] [c] [n===1] xor or"},
      {"NOT b AND c", "[b] not [c] and"},
      {"NOT n == 1", "[n===1] not"},
      {"NOT NOT b", "[b] not not"},
      {"!b && !(c || b)", "[b] not [c] [b] or not and"},
      {"b == c", "[b] [c] xor not"},
      {"b != (n > 1 AND c)", "[b] [n>1] [c] and xor"},
      {"b ? c : n > 1", "[b] [c] [n>1] choice"},
      {"b AND n == 1 OR b AND n == 1", "[b] [n===1] and [b] [n===1] and or"},

      // Inside an atom all is ECMAScript.
      {"n + 1 * 2 > 3", "[n+1*2>3]"},
      {"(n + 1) * 2 > 3", "[(n+1)*2>3]"},
      {"n - (1 - 2) > 3", "[n-(1-2)>3]"},
      {"n - 1 - 2 > 3", "[n-1-2>3]"},
      {"-n < -1", "[(-n)<(-1)]"},
      {"- -n < 0x1F", "[(-(-n))<31]"},
      {"(n & 4) == 4", "[(n&4)===4]"},
      {"n / 1.5e3 >= .5", "[n/1500>=0.5]"},
      {"n / used > 0.9", "[Math.known(n/used)>0.9]"},
      {"1 + n % used * 2 > 3", "[1+Math.known(n%used)*2>3]"},
      {"n / (n / used) > 0.9", "[Math.known(n/Math.known(n/used))>0.9]"},
      {"Math.sqrt(n) > 2", "[Math.known(Math.sqrt(n))>2]"},
      {"Math.max(n, used, 3) > Math.PI", "[Math.max(n,used,3)>Math.PI]"},
      {"(b ? n : 2) > 3", "[(b?n:2)>3]"},
      {"(b XOR c ? n : 2) > 3", "[((b!==c)?n:2)>3]"},
      {"(b XOR n > 2 ? 1 : 2) > 3", "[((b!==(n>2))?1:2)>3]"},
      {"(NOT b AND c ? n : 2) > 3", "[((!b)&&c?n:2)>3]"},
      {"s + 'é😀\\u00e9\\ud83d\\ude00\\n' == t",
       "[s+\"\\u00e9\\ud83d\\ude00\\u00e9\\ud83d\\ude00\\u000a\"===t]"},
  };
  for (const auto& row : rows) {
    const auto parsed = parse(row.text);
    EXPECT_EQ(parsed ? shown(*parsed) : parsed.error().what, row.shown) << row.text;
  }
}

TEST(Expression, RefusesWhatIsNotOnItsList) {
  const struct {
    std::string_view text;
    std::string_view error;
  } rows[] = {
      {"", "an expression is missing at column 1"},
      {"b AND", "the expression is cut short at column 6"},
      {"b c", "an operator is missing before 'c' at column 3"},
      {"(b", "')' is missing at column 3"},
      {"b ? c", "':' is missing at column 6"},
      {"* 2", "a value is missing before '*' at column 1"},

      {"Array(30000000).indexOf(1)", "no characteristic has the name 'Array' at column 1"},
      {"n(1) == 2", "a call is not allowed, but of Math's functions at column 2"},
      {"s.length > 3", "a member is not allowed, but of Math's at column 2"},
      {"s[0] == 'a'", "a list or an index is not allowed at column 2"},
      {"[].constructor", "a list or an index is not allowed at column 1"},
      {"{} == 1", "an object or a block is not allowed at column 1"},
      {"/(a+)+$/ == s", "a regular expression is not allowed at column 1"},
      {"b = true", "an assignment is not allowed; write == to compare at column 3"},
      {"n += 1", "an assignment is not allowed; write == to compare at column 3"},
      {"n++ > 1", "an assignment is not allowed at column 2"},
      {"b, c", "a comma is not allowed outside the arguments of Math's functions at column 2"},
      {"b; c", "a predicate is one expression, not statements: ';' is not allowed at column 2"},
      {"function(){for(;;);}()", "'function' is not allowed at column 1"},
      {"while(true)b", "'while' is not allowed at column 1"},
      {"typeof n == 'number'", "'typeof' is not allowed at column 1"},
      {"b in c", "'in' is not allowed at column 3"},
      {"this == null", "'this' is not allowed at column 1"},
      {"n == null", "'null' is not allowed at column 6"},
      {"() => b", "a value is missing before ')' at column 2"},
      {"`b` == s", "a template is not allowed; write the text in quotes at column 1"},
      {"b // c", "a comment is not allowed in an expression at column 3"},
      {"b @ c", "'@' is not allowed at column 3"},

      {"Math.random() > n", "Math.random is not allowed: a predicate must say the same again at column 6"},
      {"Math.flor(f) == 1", "Math has no 'flor' (did you mean 'floor'?) at column 6"},
      {"Math['PI'] > 3", "a list or an index is not allowed at column 5"},
      {"Math.pow(n) > 3", "Math.pow takes 2 arguments, not 1 at column 1"},
      {"Math.max() > 3", "Math.max takes 1 to 64 arguments, not 0 at column 1"},
      {"Math.abs(s) > 3", "Math.abs takes numbers, not a text at column 10"},

      {"free_memry > 3",
       "no characteristic has the name 'free_memry' (did you mean 'free_memory'?) at column 1"},
      {"b and c", "an operator is missing before 'and' (did you mean 'AND'?) at column 3"},
      {"b AND == c", "a value is missing before '==' at column 7"},
      {"n + NOT b", "NOT behind an operator that binds tighter needs parentheses around it at column 5"},

      {"010 == n", "a number may not begin with 0, which some languages read as octal at column 1"},
      {"n == 9007199254740993", "a whole number is beyond 2^53, where not each one can be held at column 6"},
      {"n == 1e999", "a number is beyond what can be held at column 6"},
      {"n == 3x", "a number runs into a name at column 7"},
      {"s == 'a", "a text has no end at column 6"},
      {"s == 'a\nb'", "a text goes over the end of a line at column 8"},
      {"s == '\\q'", "an unknown escape in a text at column 7"},
      {"s == '\\u12'", "an escape of a text is cut short at column 7"},
      {"s == '\\ud83d'", "half of a surrogate pair is no character at column 7"},
      {"s == '\xff'", "a text holds bytes that are no UTF-8 at column 7"},
  };
  for (const auto& row : rows) {
    const auto parsed = parse(row.text);
    ASSERT_FALSE(parsed) << row.text;
    EXPECT_EQ(parsed.error().what, row.error) << row.text;
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_input);
    EXPECT_FALSE(parsed.error().remedy_text.empty());
  }
}

TEST(Expression, TypesMustAgree) {
  const struct {
    std::string_view text;
    std::string_view error;
  } rows[] = {
      {"n", "a predicate must give a bool, not a number at column 1"},
      {"s + 'x'", "a predicate must give a bool, not a text at column 3"},
      {"n == \"5\"", "'==' compares n (integer) with a text: both sides must be of one type at column 3"},
      {"'5' == n", "'==' compares a text with n (integer): both sides must be of one type at column 5"},
      {"b == 1", "'==' compares b (bool) with a number: both sides must be of one type at column 3"},
      {"b > false", "'>' compares b (bool) with a bool at column 3"},
      {"n == s", "'==' compares n (integer) with s (string): both sides must be of one type at column 3"},
      {"used > 140", "used is a percent, 0 to 100, and is compared with 140 at column 6"},
      {"-1 < used", "used is a percent, 0 to 100, and is compared with -1 at column 4"},
      {"n == 2.5", "n is a whole number within 2^53 and never equal to 2.5 at column 3"},
      {"ch == 'xy'", "ch is one character and is compared with a text of 2 characters at column 4"},
      {"n AND b", "'AND' joins bools, not a number and a bool at column 3"},
      {"true ^ false", "'^' takes numbers, not a bool and a bool (did you mean XOR?) at column 6"},
      {"b & c", "'&' takes numbers, not a bool and a bool (did you mean AND?) at column 3"},
      {"!n", "'!' takes a bool, not a number at column 1"},
      {"-s == 'x'", "'-' takes a number, not a text at column 1"},
      {"n + s == 'x'", "'+' takes two numbers or two texts, not a number and a text at column 3"},
      {"n ? b : c", "the condition before '?' must be a bool at column 3"},
      {"(b ? n : s) == 1", "both sides of ':' must be of one type at column 4"},
  };
  for (const auto& row : rows) {
    const auto parsed = parse(row.text);
    ASSERT_FALSE(parsed) << row.text;
    EXPECT_EQ(parsed.error().what, row.error) << row.text;
  }
  EXPECT_TRUE(parse("n > 2.5 AND used == 100 AND f == 2.5 AND ch == 'x'"));
  EXPECT_EQ(
      parse("s == '" + std::string(257, 'x') + "'").error().what,
      "s is a text of at most 256 characters and is compared with a text of 257 characters at column 3");
}

TEST(Expression, IsBoundedInLengthDepthAndWhatItBuilds) {
  EXPECT_TRUE(parse("n==1" + std::string(kMostExpression - 4, ' ')));
  EXPECT_EQ(parse("n==1" + std::string(kMostExpression - 3, ' ')).error().what,
            "an expression of 4097 bytes is over the bound of 4096 at column 4097");
  const auto nested = [](int depth) { return std::string(depth, '(') + "b" + std::string(depth, ')'); };
  EXPECT_TRUE(parse(nested(kMostExpressionDepth - 1)));
  EXPECT_EQ(parse(nested(kMostExpressionDepth)).error().what, "nested deeper than 64 at column 65");
  EXPECT_EQ(parse(std::string(70, '!') + "b").error().what, "nested deeper than 64 at column 64");
  EXPECT_TRUE(parse("t + t + t + t == t"));
  EXPECT_EQ(parse("t + t + t + t + t == t").error().what,
            "'+' could build a text of 5242880 characters, the bound is 4194304 at column 15");

  // A long chain is deep on its left side only; the interpreter takes it as it comes.
  std::string chain = "n", or_chain = "b";
  while (chain.size() < kMostExpression - 10) chain += "+n";
  while (or_chain.size() < kMostExpression - 10) or_chain += "||c";
  const auto sum = parse(chain + ">1");
  ASSERT_TRUE(sum);
  DuktapePredicates compiler;
  auto predicate = compiler.compile(sum->atoms[0].text, sum->atoms[0].variables);
  ASSERT_TRUE(predicate) << predicate.error().what;
  const Value one = std::int64_t{1};
  const Value* values[] = {&one};
  EXPECT_TRUE(*(*predicate)->evaluate(values));
  EXPECT_TRUE(parse(or_chain));
}

// Each row: an expression over b, c (true, false or unknown) and its Kleene truth for the nine pairs.
TEST(Expression, LogicIsThreeValued) {
  const struct {
    std::string_view text;
    std::string_view truths;  // b, c = TT TF TU FT FF FU UT UF UU
  } rows[] = {
      {"b AND c", "TFUFFFUFU"},     {"b OR c", "TTTTFUTUU"},        {"b XOR c", "FTUTFUUUU"},
      {"NOT b", "FFFTTTUUU"},       {"b == c", "TFUFTUUUU"},        {"b != c", "FTUTFUUUU"},
      {"b ? c : c", "TFUTFUTFU"},   {"c ? b : NOT b", "TFUFTUUUU"}, {"b OR true", "TTTTTTTTT"},
      {"b AND NOT b", "FFFFFFUUU"},
  };
  for (const auto& row : rows) {
    const auto rules = rules_of(fmt::format(R"({{"specification": "t", "version": 1, "description": "d",
      "characteristics": {{"b": {{"type": "bool", "description": "d"}}, "c": {{"type": "bool", "description": "d"}}}},
      "predicates": {{"p": {{"when": "{}", "description": "d"}}}}}})",
                                            row.text));
    std::string truths;
    const auto fact = [](char letter) {
      Fact f;
      f.state = letter == 'U' ? Fact::State::unknown : Fact::State::known;
      f.value = letter == 'T';
      return f;
    };
    for (const char b : std::string("TFU"))
      for (const char c : std::string("TFU")) {
        std::vector<std::optional<Truth>> atoms(rules->atoms.size());
        std::string why;
        const Truth truth = evaluate(*rules, 0, {fact(b), fact(c)}, atoms, why);
        truths += truth == Truth::yes ? 'T' : truth == Truth::no ? 'F' : 'U';
        EXPECT_EQ(why, "");
      }
    EXPECT_EQ(truths, row.truths) << row.text;
  }
}

}  // namespace
}  // namespace sickbay::diagnose
