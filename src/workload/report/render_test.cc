// SPDX-License-Identifier: Apache-2.0
// Markdown, CSV and JSON of one document that has everything: each outcome, each type, names that bite.
#include "workload/report/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"

namespace sickbay::workload {
namespace {

using duck::Type;
using duck::Value;
using testing::HasSubstr;
using testing::Not;

Document sample() {
  Document d;
  d.title = "Workload report";
  d.language = "en";
  d.made_at = "2021-08-01 10:00:00";
  d.version = "1";
  d.facts = {{"Period", "2021-05-01 to 2021-06-01"}};
  d.messages = {
      {"column.core_h", "core-hours"}, {"unit.core-h", "core-hours"}, {"chapter.use", "Use of resources"}};
  Plugin plugin;
  plugin.name = "own";
  plugin.title = "Own";
  plugin.chapter = "use";
  d.plugins = {plugin};

  ReportResult made;
  made.spec.plugin = "own";
  made.spec.name = "made";
  made.spec.title = "Made";
  made.spec.note = "One.\nTwo.";
  made.spec.left_out = "Some.\nMore.";
  made.spec.units = {{"core_h", "core-h"}, {"year", "none"}};
  made.spec.chart.kind = "none";
  made.table.columns = {{"user_name", Type::text},
                        {"core_h", Type::real},
                        {"year", Type::integer},
                        {"big", Type::boolean},
                        {"at", Type::time}};
  made.table.rows = {
      {std::string("a|b\n\"c\",\x1b[31m"), 12345.678, std::int64_t{2021}, true,
       std::int64_t{1620036000000000}},
      {Value(), 0.0421, Value(), false, std::int64_t{1619827200000000}},
      {std::string(), std::numeric_limits<double>::quiet_NaN(), std::int64_t{-7}, Value(), Value()}};
  ReportResult left_out = made, failed = made, empty = made;
  left_out.spec.name = "lacks";
  left_out.outcome = Outcome::left_out;
  left_out.why = "no job here has max_rss";
  left_out.table = {};
  failed.spec.name = "fails";
  failed.outcome = Outcome::failed;
  failed.why = "a.sql:3: it is wrong";
  failed.table = {};
  empty.spec.name = "empty";
  empty.outcome = Outcome::empty;
  empty.table.rows.clear();
  d.results = {made, left_out, failed, empty};
  return d;
}

TEST(Markdown, HoldsTheWholeDocument) {
  const std::string text = render_markdown(sample());
  EXPECT_THAT(text, testing::StartsWith("# Workload report\n\n- Period: 2021-05-01 to 2021-06-01\n"));
  EXPECT_THAT(text, HasSubstr("## Use of resources\n\n### Own\n\n#### Made\n"));
  EXPECT_THAT(text, HasSubstr("| core-hours | Year | Big | At               |\n"));
  EXPECT_THAT(text, HasSubstr("| ---------: | ---: | --- | ---------------- |\n"));
  EXPECT_THAT(text, HasSubstr("|     12,346 | 2021 | yes | 2021-05-03 10:00 |\n")) << text;
  EXPECT_THAT(text, HasSubstr("|      0.042 |      | no  | 2021-05-01       |\n"));
  EXPECT_THAT(text, HasSubstr("How to read it: One. Two.\n\nNot counted: Some. More.\n"));
  EXPECT_THAT(text, HasSubstr("Left out: no job here has max_rss\n"));
  EXPECT_THAT(text, HasSubstr("Failed: a.sql:3: it is wrong\n"));
  EXPECT_THAT(text, HasSubstr("No job fits\n"));
}

TEST(Markdown, SaysAUnitOnceAndDurationsAsPeopleDo) {
  Document d = sample();
  d.results.resize(1);
  d.results[0].spec.units = {{"lost_core_h", "core-h"}, {"wait_s", "s"}, {"mean", "core-h"}};
  d.results[0].spec.words = {"kind"};
  d.messages["value.user"] = "Nutzer";
  d.results[0].table.columns = {
      {"kind", Type::text}, {"lost_core_h", Type::real}, {"wait_s", Type::integer}, {"mean", Type::real}};
  d.results[0].table.rows = {{std::string("user"), 1.5, std::int64_t{93784}, 2.0}};
  const std::string text = render_markdown(d);
  EXPECT_THAT(text, HasSubstr("| Kind   | Lost core-hours |    Wait | Mean (core-hours) |\n")) << text;
  EXPECT_THAT(text, HasSubstr("| Nutzer |             1.5 | 1\u00a0d 2\u00a0h |                 2 |\n"));
}

// A column that is where another stands on its axis is for the chart; CSV has it, for other programs.
TEST(Markdown, LeavesOutWhatIsForTheChartAlone) {
  Document d = sample();
  d.results.resize(1);
  d.results[0].spec.chart = {"radar", {{"name", "application"}, {"axes", "users"}, {"places", "_rank"}}};
  d.results[0].spec.units = {{"users", "users"}, {"users_rank", "ratio"}, {"jobs_rank", "ratio"}};
  d.results[0].table.columns = {{"application", Type::text},
                                {"users_rank", Type::real},
                                {"users", Type::integer},
                                {"jobs_rank", Type::real}};
  d.results[0].table.rows = {{std::string("vasp"), 0.75, std::int64_t{3}, 0.25}};
  const std::string text = render_markdown(d);
  EXPECT_THAT(text, HasSubstr("|     3 |      0.25 |\n")) << text;
  EXPECT_THAT(text, Not(HasSubstr("0.75")));
  EXPECT_THAT(render_csv(d), HasSubstr("vasp,0.75,3,0.25"));
}

TEST(Markdown, LetsNoNameBreakItsTableOrTheTerminal) {
  const std::string text = render_markdown(sample());
  EXPECT_THAT(text, HasSubstr("a\\|b\\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Markdown, MakesNoHtmlOfNames) {
  Document d = sample();
  d.facts.emplace_back("Sources", "<img src=x>");
  for (auto& value : d.results[0].table.rows[0])
    if (auto* text = std::get_if<std::string>(&value)) *text = "<img src=x onerror=alert(1)>![a](b)";
  d.results[0].spec.title = "<b>t</b>";
  const std::string text = render_markdown(d);
  for (const char* bad : {" <img", "| <", "](b", " <b>"}) EXPECT_THAT(text, Not(HasSubstr(bad))) << text;
}

TEST(Markdown, CutsLongTablesAndSaysSo) {
  Document d = sample();
  d.results[0].table.rows.assign(60, d.results[0].table.rows[1]);
  EXPECT_THAT(render_markdown(d), HasSubstr("\n10 more rows\n"));
}

// As the page's own CSV does it.
TEST(Csv, LetsNoNameBeAFormula) {
  Document d = sample();
  d.results.resize(1);
  d.results[0].table.columns = {{"name", Type::text}, {"change", Type::real}};
  d.results[0].table.rows = {{std::string("=1+1"), -2.5}, {std::string("@x,y"), 1.0}};
  const std::string text = render_csv(d);
  EXPECT_THAT(text, HasSubstr("\n'=1+1,-2.5\n"));
  EXPECT_THAT(text, HasSubstr("\n\"'@x,y\",1"));
}

TEST(Csv, HoldsValuesAsTheyAre) {
  const std::string table =
      "user_name,core_h,year,big,at\n"
      "\"a|b\n\"\"c\"\",\x1b[31m\",12345.678,2021,true,2021-05-03T10:00:00\n"
      ",0.0421,,false,2021-05-01T00:00:00\n"
      "\"\",,-7,,\n";
  const auto files = render_csv_files(sample());
  ASSERT_EQ(files.size(), 2u);  // what was not made has no table
  EXPECT_EQ(files[0].first, "own.made.csv");
  EXPECT_EQ(files[0].second, table);
  EXPECT_EQ(files[1].second, "user_name,core_h,year,big,at\n");
  EXPECT_EQ(render_csv(sample()), "# own.made: Made\n" + table +
                                      "\n# own.lacks: Made\n# left_out: no job here has max_rss\n"
                                      "\n# own.fails: Made\n# failed: a.sql:3: it is wrong\n"
                                      "\n# own.empty: Made\nuser_name,core_h,year,big,at\n");
}

TEST(JsonDocument, HoldsValuesAsTheyAre) {
  auto json = Json::parse(render_json(sample()));
  ASSERT_TRUE(json) << json.error().line();
  EXPECT_EQ((*json)["facts"].items()[0]["value"].as_string(), "2021-05-01 to 2021-06-01");
  const Json& made = (*json)["reports"].items()[0];
  EXPECT_EQ(made["id"].as_string(), "own.made");
  EXPECT_EQ(made["outcome"].as_string(), "made");
  EXPECT_EQ(made["columns"].items()[1].dump(), R"({"name":"core_h","type":"real","unit":"core-h"})");
  EXPECT_EQ(made["rows"].items()[1].dump(), R"([null,0.0421,null,false,"2021-05-01T00:00:00"])");
  EXPECT_EQ(made["rows"].items()[2].dump(), R"(["",null,-7,null,null])");
  EXPECT_EQ((*json)["reports"].items()[1]["why"].as_string(), "no job here has max_rss");
  EXPECT_EQ((*json)["reports"].items()[2]["outcome"].as_string(), "failed");
}

TEST(Figures, AreRoundedToWhatIsWorthReading) {
  const Document none;
  const auto text = [&](Value value, const char* unit, Type type = Type::real) {
    return value_text(none, value, type, unit);
  };
  EXPECT_EQ(text(1234567.8, "core-h"), "1,234,568");
  EXPECT_EQ(text(99.96, "%"), "100.0");
  EXPECT_EQ(text(12.345, "h"), "12.3");
  EXPECT_EQ(text(1.5, "h"), "1.5");
  EXPECT_EQ(text(-0.0001, "h"), "0");
  EXPECT_EQ(text(-1234.5, "h"), "-1,234");
  EXPECT_EQ(text(std::int64_t{1234567}, "jobs", Type::integer), "1,234,567");
  EXPECT_EQ(text(std::int64_t{1234567}, "none", Type::integer), "1234567");
  Document russian;
  russian.messages = {{"number.thousands", " "}, {"number.decimal", ","}};
  EXPECT_EQ(value_text(russian, 12345.0, Type::real, "h"), "12 345");
  EXPECT_EQ(value_text(russian, 12.3, Type::real, "%"), "12,3");
}

}  // namespace
}  // namespace sickbay::workload
