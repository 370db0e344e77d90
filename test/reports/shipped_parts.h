// SPDX-License-Identifier: Apache-2.0
// What the tests of the shipped reports share: a store in memory, and the reports run over it.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "workload/report/catalog.h"
#include "workload/report/render.h"
#include "workload/report/run.h"
#include "workload/report/site.h"
#include "workload/store/store.h"

namespace sickbay::workload {

inline std::string cell(const duck::Value& value, duck::Type type) {
  if (std::holds_alternative<std::monostate>(value)) return "-";
  // Four digits: what a sum in another order changes is far behind them.
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:.4g}", *real == 0 ? 0 : *real);
  return value_text({}, value, type, "none");
}

inline std::string as_text(const duck::ResultTable& table) {
  std::string text;
  for (std::size_t c = 0; c < table.columns.size(); ++c) text += (c ? " | " : "") + table.columns[c].name;
  for (const auto& row : table.rows) {
    text += "\n";
    for (std::size_t c = 0; c < row.size(); ++c)
      text += (c ? " | " : "") + cell(row[c], table.columns[c].type);
  }
  return text + "\n";
}

inline std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline TimePoint at(const char* text) { return *parse_time(text); }

// A store in memory, and the shipped reports run over it.
class Shipped : public testing::Test {
 protected:
  Shipped() : store_(*Store::open({})), plugins_(load_catalog({SB_REPORTS})->plugins) {
    order_.views.site = default_site();
  }
  void fill(const std::string& sql) {
    const Status filled = store_.connection().execute(sql);
    ASSERT_TRUE(filled) << filled.error().line() << filled.error().cause;
  }
  void fill_small() {
    fill(contents(SB_HERE "/small.sql"));
    order_.views.filter.from = at("2021-05-01T00:00:00Z");
    order_.views.filter.to = at("2021-05-03T00:00:00Z");
    order_.views.site.users = {{"ann", "Ann", "solids", "physics"}, {"bob", "Bob", "solids", ""}};
    order_.views.site.accounts = *parse_accounts(
        R"({"phys": {"parent": "science", "pi": "Prof. P"}, "chem": {"parent": "science", "budget": 60},
            "science": {"budget": 200, "unit": "core-h", "from": "2021-05-01", "to": "2021-05-11"},
            "ai": {"budget": 20, "unit": "GPU-h", "from": "2021-04-01", "to": "2022-04-01"}})",
        "accounts.json");
  }
  void make_views() {
    auto sql = views_sql(store_.connection(), order_.views);
    ASSERT_TRUE(sql) << sql.error().line();
    const Status made = store_.connection().execute(*sql);
    ASSERT_TRUE(made) << made.error().line() << made.error().cause;
  }
  ReportResult run(const std::string& id) {
    for (const Plugin& plugin : plugins_)
      for (const ReportSpec& spec : plugin.reports)
        if (spec.id() == id) return run_report(store_.connection(), spec, order_);
    ADD_FAILURE() << "no report " << id;
    return {};
  }
  // The rows of a report, each as column -> value as text.
  std::vector<std::map<std::string, std::string>> rows(const std::string& id) {
    const ReportResult result = run(id);
    EXPECT_EQ(result.outcome, Outcome::made) << id << ": " << result.why;
    std::vector<std::map<std::string, std::string>> all;
    for (const auto& row : result.table.rows) {
      all.emplace_back();
      for (std::size_t c = 0; c < row.size(); ++c)
        all.back()[result.table.columns[c].name] = cell(row[c], result.table.columns[c].type);
    }
    return all;
  }
  std::map<std::string, std::string> tiles() {
    std::map<std::string, std::string> all;
    for (auto& row : rows("systatus.summary")) all[row["name"]] = row["value"];
    return all;
  }

  Store store_;
  std::vector<Plugin> plugins_;
  RunOrder order_;
};

}  // namespace sickbay::workload
