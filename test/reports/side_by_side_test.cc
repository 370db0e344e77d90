// SPDX-License-Identifier: Apache-2.0
// The shipped reports give the same side by side on views of the columns that they name as one after another
// on views of all columns.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "workload/report/catalog.h"
#include "workload/report/run.h"
#include "workload/report/site.h"
#include "workload/report/used_columns.h"
#include "workload/store/store.h"

namespace sickbay::workload {
namespace {

class SideBySide : public testing::Test {
 protected:
  SideBySide() : store_(*Store::open({})) {
    order_.views.site = default_site();
    order_.views.filter.from = *parse_time("2021-05-01T00:00:00Z");
    order_.views.filter.to = *parse_time("2021-05-03T00:00:00Z");
    order_.views.compare = Period{*parse_time("2021-05-03T00:00:00Z"), *parse_time("2021-05-05T00:00:00Z")};
    order_.plugins = load_catalog({SB_REPORTS})->plugins;
    std::ifstream in(SB_HERE "/small.sql");
    const Status filled = store_.connection().execute(std::string(std::istreambuf_iterator<char>(in), {}));
    EXPECT_TRUE(filled) << filled.error().line();
  }
  duck::Connection& connection() { return store_.connection(); }

  Store store_;
  RunOrder order_;
};

TEST_F(SideBySide, GivesTheSameAsOneAfterAnother) {
  auto views = views_sql(connection(), order_.views);
  ASSERT_TRUE(views) << views.error().line();
  ASSERT_TRUE(connection().execute(*views));
  std::vector<ReportResult> alone;
  for (const Plugin& plugin : order_.plugins)
    for (const ReportSpec& spec : plugin.reports) alone.push_back(run_report(connection(), spec, order_));
  for (const int connections : {1, 2, 5}) {
    order_.connections = connections;
    const auto document = make_document(connection(), order_);
    ASSERT_TRUE(document) << document.error().line();
    ASSERT_EQ(document->results.size(), alone.size());
    std::size_t made = 0;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const ReportResult& result = document->results[i];
      EXPECT_EQ(result.spec.id(), alone[i].spec.id());
      if (result.outcome == Outcome::left_out) continue;
      EXPECT_EQ(result.outcome, alone[i].outcome) << result.spec.id() << ": " << result.why;
      EXPECT_EQ(result.table.rows, alone[i].table.rows) << result.spec.id();
      made += result.outcome == Outcome::made;
    }
    EXPECT_GT(made, 45u);
  }
}

// What keeps the planning of a report short.
TEST_F(SideBySide, NamesItsColumns) {
  for (const Plugin& plugin : order_.plugins)
    for (const ReportSpec& spec : plugin.reports)
      if (spec.id() != "quality.coverage") {
        EXPECT_TRUE(used_columns(connection(), spec.sql)) << spec.id() << " asks for all columns of j";
      }
}

}  // namespace
}  // namespace sickbay::workload
