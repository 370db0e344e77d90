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

}  // namespace
}  // namespace sickbay
