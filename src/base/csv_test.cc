// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Csv, QuotesWhatWouldEndACell) {
  const struct {
    std::string_view text, cell;
  } rows[] = {
      {"plain text; 'so'", "plain text; 'so'"},
      {"", R"("")"},
      {"a,b", R"("a,b")"},
      {R"(a "b")", R"("a ""b""")"},
      {"\"", R"("""")"},
      {"a\nb", "\"a\nb\""},
      {"a\rb", "\"a\rb\""},
  };
  for (const auto& row : rows) {
    std::string line = "1,";
    append_csv_text(line, row.text);
    EXPECT_EQ(line, "1," + std::string(row.cell));
  }
}

TEST(Csv, CutsALineIntoItsCells) {
  using Cells = std::vector<std::string>;
  const struct {
    std::string_view line;
    std::optional<Cells> cells;
  } rows[] = {
      {"", Cells{""}},
      {"a,b", Cells{"a", "b"}},
      {"a,", Cells{"a", ""}},
      {R"("a,b",c)", Cells{"a,b", "c"}},
      {R"("a ""b""","")", Cells{R"(a "b")", ""}},
      {R"(a"b,c)", Cells{R"(a"b)", "c"}},
      {R"("a)", std::nullopt},
      {R"("a"b,c)", std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(csv_cells(row.line), row.cells) << row.line;
}

}  // namespace
}  // namespace sickbay
