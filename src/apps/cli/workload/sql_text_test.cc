// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/sql_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"

namespace sickbay::cli {
namespace {

using duck::Type;
using duck::Value;

const std::vector<duck::ResultColumn> kColumns = {{"job_id", Type::text},
                                                  {"cpus", Type::integer},
                                                  {"share", Type::real},
                                                  {"ok", Type::boolean},
                                                  {"end", Type::time}};
const std::vector<std::vector<Value>> kRows = {
    {"7", std::int64_t{16}, 0.25, true, std::int64_t{1619835983000000}},
    {"a \"b\", c\nd", std::int64_t{-1}, std::numeric_limits<double>::infinity(), false, Value()},
    {"", Value(), Value(), Value(), Value()},
};

std::string text(const char* format, const std::vector<duck::ResultColumn>& columns = kColumns,
                 const std::vector<std::vector<Value>>& rows = kRows) {
  std::string out;
  auto made = SqlText::make(format, {}, [&](std::string_view piece) { out += piece; });
  made->head(columns);
  for (const auto& row : rows) made->row(row);
  made->end();
  return out;
}

TEST(SqlText, TableShowsNothingAsNothingElse) {
  EXPECT_EQ(text("table"),
            "job_id       cpus  share  ok     end\n"
            "7              16   0.25  true   2021-05-01T02:26:23Z\n"
            "a \"b\", c\\nd    -1    inf  false  NULL\n"
            "''           NULL   NULL  NULL   NULL\n");
  EXPECT_EQ(text("table", kColumns, {}), "no rows\n");
}

TEST(SqlText, TableHoldsABoundedNumberOfRows) {
  std::string out;
  auto table = SqlText::make("table", {}, [&](std::string_view piece) { out += piece; });
  table->head({{"n", Type::integer}});
  std::size_t taken = 0;
  while (table->row({std::int64_t{1}})) ++taken;
  table->end();
  EXPECT_EQ(taken, kTableRows);
  EXPECT_TRUE(table->cut());
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), static_cast<std::ptrdiff_t>(kTableRows + 1));
}

TEST(SqlText, CsvTellsNullFromEmpty) {
  EXPECT_EQ(text("csv"),
            "job_id,cpus,share,ok,end\n"
            "7,16,0.25,true,2021-05-01T02:26:23Z\n"
            "\"a \"\"b\"\", c\nd\",-1,inf,false,\n"
            "\"\",,,,\n");
  EXPECT_EQ(text("csv", {{"a,b", Type::text}}, {}), "\"a,b\"\n");
}

TEST(SqlText, JsonIsOneArrayOfLines) {
  const std::string json = text("json");
  auto parsed = Json::parse(json);
  ASSERT_TRUE(parsed) << json;
  ASSERT_EQ(parsed->size(), 3u);
  EXPECT_EQ(parsed->items()[0].dump(),
            R"({"job_id":"7","cpus":16,"share":0.25,"ok":true,"end":"2021-05-01T02:26:23Z"})");
  EXPECT_EQ(parsed->items()[1]["share"], Json()) << "JSON has no infinity";
  EXPECT_EQ(text("json", kColumns, {}), "[]\n");
  const std::string lines = text("jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  EXPECT_TRUE(Json::parse(lines.substr(0, lines.find('\n'))));
  EXPECT_EQ(text("jsonl", {{"a", Type::integer}, {"a", Type::integer}, {"a_2", Type::integer}},
                 {{std::int64_t{1}, std::int64_t{2}, std::int64_t{3}}}),
            "{\"a\":1,\"a_2\":2,\"a_2_2\":3}\n");
}

// CREATE TABLE gives no result at all.
TEST(SqlText, NoResultNoText) {
  for (const char* format : {"table", "csv", "json", "jsonl"}) {
    std::string out;
    SqlText::make(format, {}, [&](std::string_view piece) { out += piece; })->end();
    EXPECT_EQ(out, "") << format;
  }
  EXPECT_EQ(SqlText::make("yaml", {}, [](std::string_view) {}), nullptr);
}

}  // namespace
}  // namespace sickbay::cli
