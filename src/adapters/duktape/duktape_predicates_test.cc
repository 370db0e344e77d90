// SPDX-License-Identifier: Apache-2.0
// What stands underneath the list of what a predicate may hold: the adapter is given here what that list
// refuses.
#include "adapters/duktape/duktape_predicates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using testing::HasSubstr;

Result<bool> evaluate(PredicateCompiler& compiler, const std::string& expression,
                      const std::vector<std::pair<std::string, Value>>& given = {}) {
  std::vector<std::string> names;
  std::vector<const Value*> values;
  for (const auto& [name, value] : given) {
    names.push_back(name);
    values.push_back(&value);
  }
  auto predicate = compiler.compile(expression, names);
  if (!predicate) return fail(predicate.error());
  return (*predicate)->evaluate(values);
}

TEST(DuktapePredicates, EvaluatesOverValuesOfEachKind) {
  DuktapePredicates compiler;
  EXPECT_TRUE(*evaluate(compiler, "n>3&&n<5", {{"n", std::int64_t{4}}}));
  EXPECT_FALSE(*evaluate(compiler, "n===8589934592", {{"n", std::int64_t{4294967296}}}));
  EXPECT_TRUE(*evaluate(compiler, "n===9007199254740992", {{"n", kMostInteger}}));
  EXPECT_TRUE(*evaluate(compiler, "Math.floor(f)===2", {{"f", 2.75}}));
  EXPECT_TRUE(*evaluate(compiler, "!b", {{"b", false}}));
  EXPECT_TRUE(*evaluate(compiler, "s===\"a\\nb\"", {{"s", std::string("a\nb")}}));
  EXPECT_TRUE(*evaluate(compiler, "s===\"\\ud83d\\ude00\\u00e9\"", {{"s", std::string("😀é")}}));
  EXPECT_FALSE(*evaluate(compiler, "s===\"\"", {{"s", std::string("\0", 1)}}));
}

TEST(DuktapePredicates, ACompiledPredicateOutlivesItsCompiler) {
  std::unique_ptr<Predicate> kept;
  {
    DuktapePredicates compiler;
    kept = compiler.compile("n>1", {"n"}).value();
  }
  const Value two = std::int64_t{2};
  const Value* values[] = {&two};
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(kept->evaluate(values).value());
}

TEST(DuktapePredicates, HoldsNothingOfTheHostAndNoGlobalsButMath) {
  DuktapePredicates compiler;
  for (const char* name : {"Array", "Duktape", "Function", "eval", "RegExp", "JSON", "performance", "String"})
    EXPECT_THAT(evaluate(compiler, std::string(name) + "===1").error().what, HasSubstr("undefined")) << name;
  EXPECT_THAT(evaluate(compiler, "Array(30000000).indexOf(1)===1").error().what, HasSubstr("undefined"));
  // Strict code has no other way to the global object.
  EXPECT_TRUE(*evaluate(compiler, "(function(){return this;}())===undefined"));
}

TEST(DuktapePredicates, MemoryIsBoundedAndTheNextPredicateGoesOn) {
  constexpr std::size_t kHeadroom = std::size_t{4} << 20;
  DuktapePredicates compiler(kHeadroom);
  const std::size_t before = compiler.used();
  const Value text = std::string(std::size_t{1} << 20, 'x');
  const char* bombs[] = {
      "[].constructor(30000000).join('x')===''", "(s+s+s+s+s+s+s+s)===''",
      "(function(){var a=s;for(;;)a+=a;}())",    "(function(){var a=[];for(;;)a.push({});}())",
      "(function f(){return f()+1;}())===1",  // the stack is bounded, too
  };
  for (const char* bomb : bombs) {
    const auto result = evaluate(compiler, bomb, {{"s", text}});
    ASSERT_FALSE(result) << bomb;
    EXPECT_EQ(result.error().code, ErrorCode::bad_input) << bomb;
    EXPECT_TRUE(*evaluate(compiler, "s.length===1048576", {{"s", text}})) << bomb;
    EXPECT_LT(compiler.used(), before + kHeadroom) << bomb;
  }
}

TEST(DuktapePredicates, APredicateThatIsDroppedLeavesNothing) {
  DuktapePredicates compiler;
  const auto once = [&] { return evaluate(compiler, "n*2>3&&n<100", {{"n", std::int64_t{4}}}).value(); };
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(once());
  const std::size_t after_200 = compiler.used();
  for (int i = 0; i < 5000; ++i) once();
  // Functions are loops of references until the heap's own collection, so it goes up and down a little.
  EXPECT_LT(compiler.used(), after_200 + (std::size_t{2} << 20));
}

TEST(DuktapePredicates, RefusesWhatDoesNotCompileOrGivesNoBool) {
  DuktapePredicates compiler;
  EXPECT_THAT(evaluate(compiler, "n >").error().what, HasSubstr("does not compile"));
  EXPECT_THAT(evaluate(compiler, "1+1").error().what, HasSubstr("gave no bool"));
  EXPECT_THAT(evaluate(compiler, "(function(){throw 'x\\ny';}())").error().what, HasSubstr("'x\\ny'"));
}

}  // namespace
}  // namespace sickbay
