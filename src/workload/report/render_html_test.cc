// SPDX-License-Identifier: Apache-2.0
// What the page says and how it keeps hostile names out of its HTML.  What it looks like and does in a
// browser: test/page.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/report/html_card.h"
#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

using duck::Type;
using testing::HasSubstr;
using testing::Not;

const PageParts kParts = {
    "<html "
    "lang={{language}}><title>{{title}}</"
    "title>[{{nonce}}]{{css}}{{body}}{{unknown}}{{words}}{{echarts}}{{js}}",
    "CSS", "JS", "ECHARTS"};

ReportResult result_of(std::string kind, std::vector<duck::ResultColumn> columns,
                       std::vector<std::vector<duck::Value>> rows) {
  ReportResult result;
  result.spec.plugin = "use";
  result.spec.name = "users";
  result.spec.title = "By user";
  result.spec.chart.kind = std::move(kind);
  result.table = {std::move(columns), std::move(rows)};
  return result;
}

Document document_of(std::vector<ReportResult> results) {
  Document document;
  document.title = "Workload";
  document.plugins.push_back({"use", "Use", "", "use", "", 10, {}});
  document.results = std::move(results);
  return document;
}

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Escaped, NamesStayText) {
  EXPECT_EQ(escaped("<b a=\"x\" c='y'>&"), "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(escaped("a\nb\x01\xff"), "a\\nb\\x01\\xff");
  EXPECT_EQ(escaped("a\u202eb\u2066c"), "a\ufffdb\ufffdc");
  EXPECT_EQ(escaped("第一 при → …"), "第一 при → …");
  EXPECT_EQ(escaped_lines("a<\nb\n"), "a&lt;\nb\n");
}

TEST(JsonForScript, CannotEndOrCommentOutTheScript) {
  EXPECT_EQ(json_for_script(Json("</script><!--&\u2028\u2029→")),
            R"("\u003c/script\u003e\u003c!--\u0026\u2028\u2029→")");
  const Json value = Json::object({{"<k>", "</SCRIPT"}});
  EXPECT_EQ(Json::parse(json_for_script(value)).value(), value);
}

// The rows for the chart have all columns; the table says of which its cells are, so that it can be sorted.
TEST(RenderHtml, TheTableLeavesOutWhatIsForTheChartAlone) {
  ReportResult result =
      result_of("radar", {{"app", Type::text}, {"users_rank", Type::real}, {"users", Type::integer}},
                {{std::string("vasp"), 0.75, std::int64_t{3}}});
  result.spec.chart.options = {{"name", "app"}, {"axes", "users"}, {"places", "_rank"}};
  result.spec.units = {{"users", "users"}, {"users_rank", "ratio"}};
  const std::string html = render_html(document_of({result}), kParts);
  EXPECT_THAT(html, HasSubstr("<th class=\"n\" scope=\"col\" data-column=\"2\">"));
  EXPECT_EQ(count_of(html, "<th "), 2U);
  EXPECT_EQ(count_of(html, "<td"), 2U);
  EXPECT_THAT(html, HasSubstr("\"users_rank\"")) << "the chart has it";
}

TEST(RenderHtml, HostileNamesReachThePageOnlyEscaped) {
  const std::string evil = "</script><script>alert(1)</script>\"'";
  for (const char* kind : {"bar", "none", "tiles"}) {
    ReportResult result =
        result_of(kind, {{evil, Type::text}, {"n", Type::integer}}, {{evil, std::int64_t{1}}});
    result.spec.title = result.spec.note = result.spec.left_out = result.spec.sql = evil;
    result.spec.chart.options["x"] = evil;
    result.spec.units["n"] = evil;
    result.spec.parameters.push_back({evil, "text", evil, evil});
    Document document = document_of({result});
    document.title = document.made_at = document.version = document.language = evil;
    document.facts = {{evil, evil}};
    document.plugins[0].title = document.plugins[0].help = evil;
    const std::string html = render_html(document, kParts);
    EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(html, Not(HasSubstr("</script><script>")));
    EXPECT_EQ(count_of(html, "</script>"), 1U) << kind;  // the end of the rows
  }
}

TEST(RenderHtml, ANameThatLooksLikeThePageTemplateIsNotFilled) {
  const std::string html =
      render_html(document_of({result_of("none", {{"a", Type::text}}, {{"{{js}}"}})}), kParts);
  EXPECT_THAT(html, HasSubstr("<td>{{js}}</td>"));
  EXPECT_EQ(count_of(html, "JS"), 1U);
}

TEST(RenderHtml, ScriptsCannotEndThemselves) {
  PageParts parts = kParts;
  parts.js = "'</script>' + '<!--'";
  EXPECT_THAT(render_html(document_of({}), parts), HasSubstr("'<\\/script>' + '<\\!--'"));
}

TEST(RenderHtml, EqualDocumentsMakeEqualFilesAndOthersAnotherNonce) {
  const auto page = [](const char* name) {
    return render_html(document_of({result_of("none", {{"a", Type::text}}, {{name}})}), kParts);
  };
  EXPECT_EQ(page("a"), page("a"));
  const auto nonce = [&](const char* name) { return page(name).substr(page(name).find('['), 34); };
  EXPECT_NE(nonce("a"), nonce("b"));
}

TEST(RenderHtml, TablesHaveFiguresWithUnitsAndEndAfterFiveHundredRows) {
  ReportResult result = result_of("pareto", {{"user_name", Type::text}, {"core_h", Type::real}}, {});
  result.spec.units["core_h"] = "core-h";
  for (int i = 0; i < 6000; ++i) result.table.rows.push_back({fmt::format("u{}", i), 12345.6});
  Document document = document_of({});
  document.messages["unit.core-h"] = "core-hours";
  const std::string html = report_card(document, result);
  EXPECT_EQ(count_of(html, "<td class=\"n\">12,346</td>"), 500U);
  EXPECT_EQ(count_of(html, "The first 500 of 6,000 rows"), 1U);
  EXPECT_EQ(count_of(html, "[\"u"), 5000U);                      // what the chart has
  EXPECT_EQ(count_of(html, "\"sums\":{\"1\":74073600.0}"), 1U);  // of all 6000
  EXPECT_EQ(count_of(html, "<th class=\"n\" scope=\"col\">Core-hours</th>"), 1U);
}

TEST(RenderHtml, OfTooManyPointsEveryNthIsDrawnFromTheWholeTable) {
  ReportResult result = result_of("scatter", {{"x", Type::integer}, {"y", Type::integer}}, {});
  for (std::int64_t i = 0; i < 50'000; ++i) result.table.rows.push_back({i, i});
  const std::string html = report_card(document_of({}), result);
  EXPECT_THAT(html, HasSubstr("[499,499]"));
  EXPECT_LE(count_of(html, "],["), kChartRows);
  const std::size_t last = html.rfind("],[");
  EXPECT_GT(std::atoi(html.c_str() + last + 3), 49'000);
}

TEST(RenderHtml, NamesOfCommandsInNotesAreCode) {
  ReportResult result = result_of("none", {{"a", Type::text}}, {{"`x`"}});
  result.spec.note = "Call `a <b>` or `c`.\nA ` alone, and\nnone: `d`";
  const std::string html = report_card(document_of({result}), result);
  EXPECT_THAT(html, HasSubstr("Call <code>a &lt;b&gt;</code> or <code>c</code>.\nA ` alone, and\n"));
  EXPECT_THAT(html, HasSubstr("none: <code>d</code></dd>"));
  EXPECT_THAT(html, HasSubstr("<td>`x`</td>"));  // a name is no text of ours
}

TEST(RenderHtml, WordsOfTheReportAreInTheLanguageOfThePageAndNamesOfTheLogAsTheyAre) {
  ReportResult result =
      result_of("bar", {{"kind", Type::text}, {"name", Type::text}}, {{"user", "user"}, {"job", "(none)"}});
  result.spec.words = {"kind"};
  Document document = document_of({});
  document.messages = {{"value.user", "Nutzer"}, {"value.(none)", "(keiner)"}, {"unit.job", "Auftrag"}};
  document.orders["kind"] = {"job", "user"};
  const std::string html = report_card(document, result);
  EXPECT_THAT(html, HasSubstr("<tr><td>Nutzer</td><td>user</td></tr>"));
  EXPECT_THAT(html, HasSubstr("<tr><td>Auftrag</td><td>(keiner)</td></tr>"));
  EXPECT_THAT(html, HasSubstr(R"("words":{"user":"Nutzer","job":"Auftrag"},"order":["job","user"])"));
  EXPECT_THAT(html, HasSubstr(R"x("words":{"(none)":"(keiner)"}})x"));
  EXPECT_THAT(html, HasSubstr(R"x("rows":[["user","user"],["job","(none)"]])x"));  // CSV keeps the SQL's
}

TEST(RenderHtml, SecondsAreToldAsPeopleSayThem) {
  ReportResult result = result_of("none", {{"wait_s", Type::integer}}, {});
  result.spec.units["wait_s"] = "s";
  for (const std::int64_t s : {0, 59, 60, 125, 7200, 273'600}) result.table.rows.push_back({s});
  const std::string html = report_card(document_of({}), result);
  for (const char* text : {">0\u00a0s<", ">59\u00a0s<", ">1\u00a0min<", ">2\u00a0min 5\u00a0s<", ">2\u00a0h<",
                           ">3\u00a0d 4\u00a0h<", ">Wait</th>"})
    EXPECT_THAT(html, HasSubstr(text));
}

TEST(RenderHtml, HeadingsAreWordsAndNotesSpeakOfHeadings) {
  ReportResult result = result_of("none",
                                  {{"lost_core_h", Type::real},
                                   {"core_h_share", Type::real},
                                   {"cpu_eff", Type::real},
                                   {"unused_gib_h", Type::real},
                                   {"jobs", Type::integer}},
                                  {{1.0, 2.0, 3.0, 5.0, std::int64_t{4}}});
  result.spec.units = {{"lost_core_h", "core-h"},
                       {"core_h_share", "%"},
                       {"cpu_eff", "%"},
                       {"unused_gib_h", "GiB-h"},
                       {"jobs", "jobs"}};
  result.spec.note = "lost_core_h of jobs; not_lost_core_h stays.";
  Document document = document_of({});
  document.messages["unit.core-h"] = "core-hours";
  document.messages["unit.GiB-h"] = "GiB-hours";
  const std::string html = report_card(document, result);
  EXPECT_THAT(html, HasSubstr(">Lost core-hours</th>"));
  EXPECT_THAT(html, HasSubstr(">Core-hour share <span class=\"unit\">%</span></th>"));
  EXPECT_THAT(html, HasSubstr(">CPU efficiency <span"));
  EXPECT_THAT(html, HasSubstr(">Unused GiB-hours</th>"));
  EXPECT_THAT(html, HasSubstr(">Jobs</th>"));
  EXPECT_THAT(html, HasSubstr("“Lost core-hours” of jobs; not_lost_core_h stays."));
}

TEST(RenderHtml, TilesAreTheColumnsOfOneRowOrRowsOfNames) {
  ReportResult row =
      result_of("tiles", {{"jobs", Type::integer}, {"use", Type::real}}, {{std::int64_t{1200}, 81.25}});
  row.spec.units["use"] = "%";
  const std::string html = report_card(document_of({}), row);
  EXPECT_THAT(html, HasSubstr(">Jobs</span><span class=\"figure\">1,200"));
  EXPECT_THAT(html, HasSubstr("<i style=\"width:81.2%\">"));
  const std::string named = report_card(
      document_of({}), result_of("tiles", {{"name", Type::text}, {"value", Type::real}, {"unit", Type::text}},
                                 {{"Rate", 97.1, "%"}, {"None", duck::Value(), "%"}}));
  EXPECT_THAT(named, HasSubstr(">Rate</span><span class=\"figure\">97.1 <span class=\"unit\">%"));
  EXPECT_THAT(named, HasSubstr(">None</span><span class=\"figure\">–</span>"));
}

TEST(RenderHtml, WhatIsNotThereIsSaid) {
  ReportResult made = result_of("none", {{"a", Type::text}}, {{"x"}});
  ReportResult empty = made, left_out = made, failed = made;
  empty.outcome = Outcome::empty;
  empty.spec.name = "empty";
  left_out.outcome = Outcome::left_out;
  left_out.spec.name = "gpu";
  left_out.why = "the log has no GPUs";
  failed.outcome = Outcome::failed;
  failed.spec.name = "bad";
  failed.why = "no column x";
  const std::string html = render_html(document_of({made, empty, left_out, failed}), kParts);
  EXPECT_THAT(html, HasSubstr("1 report · 1 without data · "));
  EXPECT_THAT(html, HasSubstr("1 left out"));
  EXPECT_THAT(html, HasSubstr("Left out: the log has no GPUs"));
  EXPECT_THAT(html, HasSubstr("<p class=\"failed-text\">Failed: no column x"));
  EXPECT_THAT(html, HasSubstr("<p class=\"nothing\">No job fits"));
  EXPECT_THAT(html, Not(HasSubstr("id=\"use.gpu\"")));
}

TEST(RenderHtml, QualityComesFirstAndTextsAreInTheLanguage) {
  Document document = document_of({result_of("none", {{"a", Type::text}}, {{"x"}})});
  ReportResult coverage = document.results[0];
  coverage.spec.plugin = "quality";
  document.results.push_back(coverage);
  document.plugins.push_back({"quality", "Quality", "", "quality", "", 90, {}});
  document.messages = {
      {"page.contents", "目录"}, {"page.rows", "{} 行"}, {"page.row", "1 行"}, {"column.a", "列"}};
  const std::string html = render_html(document, kParts);
  EXPECT_LT(html.find("id=\"chapter-quality\""), html.find("id=\"chapter-use\""));
  EXPECT_THAT(html, HasSubstr("<summary>目录</summary>"));
  EXPECT_THAT(html, HasSubstr("(1 行)"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">列</th>"));
}

}  // namespace
}  // namespace sickbay::workload
