// SPDX-License-Identifier: Apache-2.0
// Heads of reports: what they hold, and that each fault is named with its line.
#include "workload/report/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr std::string_view kHead =
    "-- SPDX-License-Identifier: Apache-2.0\n"
    "-- title: Top users\n"
    "-- needs: user_name, core_h node_events.node\n"
    "-- chart: pareto x=user_name y=core_h\n"
    "-- units: core_h=core-h jobs=jobs\n"
    "-- units: rank=none\n"
    "-- param: top integer 20 how many users\n"
    "-- note: first line\n"
    "-- note: second line: with a colon\n"
    "-- left out: jobs without a user\n"
    "\n"
    "SELECT 1  -- not: a head\n";

Result<ReportSpec> parse(std::string_view text, const std::string& file = "plug/02_top_users.sql") {
  return parse_report("systatus", file, text);
}

TEST(Head, IsReadWhole) {
  auto spec = parse(kHead);
  ASSERT_TRUE(spec) << spec.error().line();
  EXPECT_EQ(spec->id(), "systatus.top_users");
  EXPECT_EQ(spec->place, 2);
  EXPECT_EQ(spec->title, "Top users");
  EXPECT_THAT(spec->needs, ElementsAre("user_name", "core_h", "node_events.node"));
  EXPECT_EQ(spec->chart.kind, "pareto");
  EXPECT_THAT(spec->chart.options, ElementsAre(Pair("x", "user_name"), Pair("y", "core_h")));
  EXPECT_THAT(spec->units, ElementsAre(Pair("core_h", "core-h"), Pair("jobs", "jobs"), Pair("rank", "none")));
  ASSERT_EQ(spec->parameters.size(), 1u);
  EXPECT_EQ(spec->parameters[0].name, "top");
  EXPECT_EQ(spec->parameters[0].value, "20");
  EXPECT_EQ(spec->parameters[0].help, "how many users");
  EXPECT_EQ(spec->note, "first line\nsecond line: with a colon");
  EXPECT_EQ(spec->left_out, "jobs without a user");
  EXPECT_EQ(spec->lines.at("chart"), 4);
  EXPECT_EQ(spec->sql, kHead);
}

// Each row: a line of the head, and what must be said of it (it is line 3).
TEST(Head, NamesEachFaultWithItsLine) {
  const std::pair<const char*, const char*> rows[] = {
      {"-- titel: x", "unknown word 'titel'; did you mean 'title'?"},
      {"-- no colon here", "a line of the head is '-- word: text'"},
      {"-- note:", "'note' says nothing"},
      {"-- title: again", "there are two titles"},
      {"-- needs: max_rs", "there is no column 'max_rs'; did you mean 'max_rss'?"},
      {"-- needs: nodes.cpu", "did you mean 'nodes.cpus'?"},
      {"-- chart: barr x=a y=b", "there is no chart 'barr'; did you mean 'bar'?"},
      {"-- chart: bar x=a", "a bar chart needs y="},
      {"-- chart: bar x=a y=b stackd=yes", "no option 'stackd'; did you mean 'stacked'?"},
      {"-- chart: bar x=a y=b stacked=no", "can only be yes"},
      {"-- chart: bar x=a x=b y=c", "is given twice"},
      {"-- chart: line x=a y=b mark=80%", "must be a number"},
      {"-- chart: scatter x=a y=b log=z", "must be x, y or xy"},
      {"-- chart: tiles x=a", "has no options"},
      {"-- chart: pareto x=a y=b shares=c", "no option 'shares'; did you mean 'share'?"},
      {"-- chart: line x=a y=b suffix=c", "no option 'suffix'"},
      {"-- units: a=core_h", "there is no unit 'core_h'; did you mean 'core-h'?"},
      {"-- units: core_h", "is not of the form column=unit"},
      {"-- units: u=h", "the column 'u' has two units"},
      {"-- param: top integer", "a parameter is: name type default help"},
      {"-- param: top int 3 how many", "there is no type 'int'"},
      {"-- param: top integer x how many", "is a whole number, not 'x'"},
      {"-- param: Top integer 3 how many", "is no name"},
  };
  for (const auto& [line, said] : rows) {
    const std::string text = std::string("-- title: t\n-- units: u=s\n") + line + "\n-- note: n\nSELECT 1";
    auto spec = parse(text);
    ASSERT_FALSE(spec) << line;
    EXPECT_THAT(spec.error().what, HasSubstr(said)) << line;
    EXPECT_THAT(spec.error().what, testing::StartsWith("plug/02_top_users.sql:3: ")) << line;
  }
}

TEST(Head, MustHaveTitleNoteAndUnits) {
  EXPECT_THAT(parse("-- note: n\n-- units: u=s\nSELECT 1").error().what, HasSubstr("no title"));
  EXPECT_THAT(parse("-- title: t\n-- units: u=s\nSELECT 1").error().what, HasSubstr("no note"));
  EXPECT_THAT(parse("-- title: t\n-- note: n\nSELECT 1").error().what, HasSubstr("no units"));
  EXPECT_TRUE(parse("-- title: t\n-- note: n\n-- chart: tiles\nSELECT 1"));
  EXPECT_THAT(parse("-- title: t.\n").error().what, HasSubstr("no full stop"));
}

TEST(Head, FileNamesGivePlaceAndName) {
  for (const char* file : {"top.sql", "x_top.sql", "1_Top.sql", "_top.sql", "1_.sql", "123456_a.sql"})
    EXPECT_FALSE(parse(kHead, file)) << file;
  EXPECT_EQ(parse(kHead, "10_a2.sql")->place, 10);
}

TEST(Plugin, WithAnExecutable) {
  auto plugin = parse_plugin("plugs/weather/plugin.json", R"({
    "name": "weather", "title": "Weather", "help": "h", "chapter": "use", "order": 7,
    "reports": [{"name": "today", "place": 3, "command": ["./today.sh", "-x"], "title": "Today",
                 "note": ["one", "two"], "units": "t=count", "param": "town text Bonn where",
                 "chart": "bar x=day y=t"}]})");
  ASSERT_TRUE(plugin) << plugin.error().line();
  EXPECT_EQ(plugin->folder, "plugs/weather");
  EXPECT_EQ(plugin->order, 7);
  ASSERT_EQ(plugin->reports.size(), 1u);
  const ReportSpec& spec = plugin->reports[0];
  EXPECT_TRUE(spec.executable);
  EXPECT_EQ(spec.id(), "weather.today");
  EXPECT_THAT(spec.command, ElementsAre("./today.sh", "-x"));
  EXPECT_EQ(spec.note, "one\ntwo");
  EXPECT_EQ(spec.chart.options.at("y"), "t");
}

TEST(Plugin, NamesEachFaultWithItsPlace) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"name": "a", "titel": "b"})", "p.json:1:24: unknown key 'titel'; did you mean 'title'?"},
      {R"({"name": "A b", "title": "t", "help": "h", "chapter": "use"})", "the name 'A b' is none"},
      {R"({"name": "a", "title": "t", "help": "h"})", "'chapter' is missing"},
      {R"({"name": "a", "title": "t", "help": "h", "chapter": "uses"})", "did you mean 'use'?"},
      {R"({"name": "a", "title": 3})", "'title' cannot be a integer"},
      {R"({"name": "a", "title": "t", "help": "h", "chapter": "use", "reports": [{"name": "x"}]})",
       "needs a \"command\""},
      {R"({"name": "a", "title": "t", "help": "h", "chapter": "use", "reports": [{"name": "x", "command": ["a"], "unit": "b=h"}]})",
       "unknown word 'unit'; did you mean 'units'?"},
      {R"([])", "must be an object"},
      {R"({"name": )", "p.json:1:"},
  };
  for (const auto& [text, said] : rows) {
    auto plugin = parse_plugin("p.json", text);
    ASSERT_FALSE(plugin) << text;
    EXPECT_THAT(plugin.error().what, HasSubstr(said)) << text;
  }
}

TEST(Columns, AreThoseThatTheHeadSpeaksOf) {
  using duck::Type;
  const auto check = [](const std::string& words, const std::vector<duck::ResultColumn>& columns) {
    auto spec = parse("-- title: t\n-- note: n\n" + words + "\nSELECT 1");
    EXPECT_TRUE(spec) << words;
    const Status status = check_columns(*spec, columns);
    return status ? std::string() : status.error().what;
  };
  const std::string bar = "-- chart: bar x=day y=jobs\n-- units: jobs=jobs";
  EXPECT_EQ(check(bar, {{"day", Type::text}, {"jobs", Type::integer}}), "");
  EXPECT_EQ(check(bar, {{"days", Type::text}, {"jobs", Type::integer}}),
            "plug/02_top_users.sql:3: the result has no column 'day'; did you mean 'days'?");
  EXPECT_THAT(check(bar, {{"day", Type::text}, {"jobs", Type::text}}), HasSubstr("must hold numbers"));
  EXPECT_EQ(check(bar, {{"day", Type::text}, {"jobs", Type::integer}, {"core_h", Type::real}}),
            "plug/02_top_users.sql:4: the column 'core_h' holds numbers and has no unit");
  EXPECT_THAT(check("-- units: jobs=jobs hour=h", {{"jobs", Type::integer}}),
              HasSubstr("has no column 'hour'"));
  EXPECT_THAT(check(bar, {{"day", Type::text}, {"jobs", Type::integer}, {"jobs", Type::integer}}),
              HasSubstr("two columns 'jobs'"));
  EXPECT_EQ(check("-- chart: tiles", {{"name", Type::text}, {"value", Type::real}, {"unit", Type::text}}),
            "");
  EXPECT_THAT(check("-- chart: tiles", {{"jobs", Type::integer}}), HasSubstr("has no unit"));
}

}  // namespace
}  // namespace sickbay::workload
