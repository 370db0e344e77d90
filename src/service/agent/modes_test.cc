// SPDX-License-Identifier: Apache-2.0
#include "service/agent/modes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sickbay::agent {
namespace {

std::string shown(const Initial& initial) {
  std::string text;
  for (const auto& [name, value] : initial) text += name + "=" + to_json(value).dump() + " ";
  return text;
}
diagnose::Period period(const std::string& name, Initial initial) {
  diagnose::Period p;
  p.name = name;
  p.initial = std::move(initial);
  return p;
}
const std::string kQuickMode = "quick", kDeepMode = "deep", kExtended = "extended";

TEST(Modes, AreATextOrTheDeepestOfTheFlags) {
  const struct {
    Initial initial;
    const char* mode;
  } rows[] = {
      {{{"mode", kDeepMode}}, "deep"},
      {{{"z0", kQuickMode}, {"repair", true}}, "quick"},
      {{{"quick", true}, {"deep", true}, {"extended", false}}, "deep"},
      {{{"extended", true}, {"quick", true}}, "extended"},
      {{{"quick", false}}, ""},
      {{{"mode", std::string("thorough")}}, ""},
      {{{"deep", std::int64_t{1}}}, ""},
      {{}, ""},
  };
  for (const auto& row : rows) EXPECT_EQ(mode_of(row.initial), row.mode) << shown(row.initial);
}

TEST(Modes, OfARequestComeFromAPeriodThatHasThemElseTheyAreReplaced) {
  diagnose::Specification words, flags;
  words.periods = {period("day", {{"mode", kQuickMode}, {"limit", std::int64_t{1}}}),
                   period("night", {{"mode", kDeepMode}, {"limit", std::int64_t{2}}}),
                   period("rest", {{"mode", kQuickMode}, {"limit", std::int64_t{3}}})};
  flags.periods = {period("care", {{"extended", true}, {"repair", true}}),
                   period("day", {{"quick", true}, {"repair", false}})};
  const struct {
    const diagnose::Specification& specification;
    int now;  // number of the period that holds; -1: none
    const char* mode;
    const char* initial;
  } rows[] = {
      {words, -1, "deep", R"(mode="deep" limit=2 )"},
      {words, -1, "quick", R"(mode="quick" limit=1 )"},
      {words, 2, "quick", R"(mode="quick" limit=3 )"},  // the one that holds goes first
      {words, -1, "extended", R"(mode="extended" limit=1 )"},
      {words, 2, "extended", R"(mode="extended" limit=3 )"},

      {flags, 0, "quick", "quick=true repair=false "},
      {flags, 1, "extended", "extended=true repair=true "},
      {flags, 1, "deep", "quick=true repair=false extended=false "},
      {flags, -1, "deep", "extended=false repair=true quick=true "},
  };
  for (const auto& row : rows) {
    const diagnose::Period* now =
        row.now < 0 ? nullptr : &row.specification.periods[static_cast<std::size_t>(row.now)];
    EXPECT_EQ(shown(initial_for(row.specification, now, row.mode)), row.initial) << row.mode;
  }
  EXPECT_TRUE(initial_for({}, nullptr, "quick").empty());
}

// Each of the four may be silent but the site; one that forbids is enough.
TEST(Modes, TheStrictestOfSitePeriodModeAndRequestSaysWhetherToRepair) {
  const std::optional<bool> words[] = {std::nullopt, false, true};
  const auto initial = [](std::optional<bool> word) {
    return word ? Initial{{"repair", *word}} : Initial{{"other", true}};
  };
  int given = 0;
  for (const bool site : {false, true})
    for (const auto now : words)
      for (const auto mode : words)
        for (const auto request : words) {
          const diagnose::Period holds = period("night", initial(now));
          const Initial values = initial(mode);
          const auto permit = permit_repair({site, &holds, &values, "on request", request});
          const bool wanted = site && now.value_or(true) && mode.value_or(true) && request.value_or(true);
          EXPECT_EQ(permit.given, wanted);
          EXPECT_EQ(permit.why.empty(), wanted);
          given += permit.given ? 1 : 0;
        }
  EXPECT_EQ(given, 8);
  const Initial silent;
  EXPECT_TRUE(permit_repair({true, nullptr, &silent, "once", std::nullopt}).given) << "no period holds";
}

}  // namespace
}  // namespace sickbay::agent
