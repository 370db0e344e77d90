// SPDX-License-Identifier: Apache-2.0
// The table of built-in operations: whole, consistent, and what the documentation says.
#include "model/builtin_operations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

namespace sickbay {
namespace {

TEST(BuiltinOperations, EachNameStandsOnceAndEachRowIsWhole) {
  std::set<std::string_view> names, outputs;
  for (const BuiltinOperation& o : builtin_operations()) {
    EXPECT_TRUE(names.insert(o.name).second) << o.name;
    EXPECT_EQ(builtin_operation(o.name), &o);
    EXPECT_FALSE(o.meaning.empty()) << o.name;
    EXPECT_EQ(o.place == BuiltinPlace::agent, o.kind == "critical") << o.name;
    EXPECT_EQ(o.outputs.empty(), o.kind == "critical") << o.name;
    std::set<std::string_view> arguments;
    Json every = Json::object();  // something of the right type for those that must be given
    for (const BuiltinArgument& a : o.arguments)
      if (a.standard.empty())
        every.set(std::string(a.name), a.type == ValueType::string ? Json("x") : Json(1));
    for (const BuiltinArgument& a : o.arguments) {
      EXPECT_TRUE(arguments.insert(a.name).second) << o.name << " " << a.name;
      if (a.standard.empty()) continue;
      const auto standard = Json::parse(a.standard);
      ASSERT_TRUE(standard) << o.name << " " << a.name;
      EXPECT_TRUE(builtin_arguments(o, Json::object({{std::string(a.name), *standard}}), every))
          << o.name << " " << a.name;
    }
    for (const BuiltinOutput& out : o.outputs)
      EXPECT_TRUE(outputs.insert(out.name).second) << out.name << " of " << o.name;
  }
  EXPECT_EQ(builtin_operation("builtin:memory"), nullptr);
}

TEST(BuiltinOperations, ArgumentsAreGivenOrInputsOrDefaults) {
  const BuiltinOperation& remount = *builtin_operation("remount");
  EXPECT_EQ(builtin_arguments(remount, Json::object({{"path", "/scratch"}}), Json::object()).value().dump(),
            R"({"path":"/scratch"})");
  const BuiltinOperation& gone = *builtin_operation("process_gone");
  EXPECT_EQ(builtin_arguments(gone, Json::object({{"process_pid", 7}}),
                              Json::object({{"process_pid", 8}, {"process_started", 9}, {"memory_total", 1}}))
                .value()
                .dump(),
            R"({"process_pid":7,"process_started":9})");
  const BuiltinOperation& hogs = *builtin_operation("memory_hogs");
  EXPECT_EQ(builtin_arguments(hogs, Json::object(), Json::object()).value().dump(),
            R"({"percent":50,"size":0})");
}

TEST(BuiltinOperations, WrongArgumentsAreNamed) {
  const BuiltinOperation& hogs = *builtin_operation("memory_hogs");
  const auto misspelt = builtin_arguments(hogs, Json::object({{"percnt", 5}}), Json::object());
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().what, "builtin:memory_hogs has no argument 'percnt'");
  EXPECT_EQ(misspelt.error().remedy(), "did you mean 'percent'?");
  const auto over = builtin_arguments(hogs, Json::object({{"percent", 140}}), Json::object());
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().what,
            "argument 'percent' of builtin:memory_hogs must be a whole number from 0 to 100");
  const auto missing = builtin_arguments(*builtin_operation("mount"), Json::object(), Json::object());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().what, "builtin:mount needs the argument 'path' (the mount point)");
}

// To write it anew, run this test with SB_REWRITE=doc/operations.md from the top folder.
TEST(BuiltinOperations, PageIsThatOfTheDocumentation) {
  std::ifstream file(SB_SOURCE "/doc/operations.md");
  const std::string kept((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (const char* rewrite = std::getenv("SB_REWRITE")) std::ofstream(rewrite) << builtin_operations_page();
  EXPECT_TRUE(kept == builtin_operations_page())
      << "doc/operations.md differs from the table: run this test with SB_REWRITE=doc/operations.md";
}

}  // namespace
}  // namespace sickbay
