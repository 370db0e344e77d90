// SPDX-License-Identifier: Apache-2.0
// Which columns a SELECT is given: all that it names, and all there are where it does not name them.
#include "workload/report/used_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/report/report_test_parts.h"

namespace sickbay::workload {
namespace {

class UsedColumns : public testing::Test {
 protected:
  // "cores state", in the order of the alphabet; "all".
  std::string of(const std::string& sql) {
    const auto used = used_columns(store_.connection(), sql);
    if (!used) return "all";
    std::string text;
    for (const std::string& column : used->columns) text += (text.empty() ? "" : " ") + column;
    return text;
  }
  Store store_ = *Store::open({});
};

TEST_F(UsedColumns, AreThoseThatTheSqlNames) {
  const std::pair<const char*, const char*> rows[] = {
      {"SELECT count(*) FROM j", ""},
      {"SELECT state, sum(core_h) FROM j GROUP BY ALL", "core_h state"},
      {"SELECT \"State\", J.CORES FROM J", "cores state"},
      {"SELECT 1 FROM j WHERE ok AND NOT debug ORDER BY elapsed", "debug elapsed ok"},
      {"SELECT x.cores FROM j AS x, period", "cores"},
      {"SELECT count(*) FROM j SEMI JOIN (SELECT 'a' AS application) p USING (application)", "application"},
      {"SELECT a.cores FROM j a JOIN j2 b ON a.nodes = b.nodes", "cores nodes"},
      {"SELECT sum(core_h) OVER (PARTITION BY month ORDER BY day) FROM j", "core_h day month"},

      // A star over what names its columns.
      {"WITH a AS (SELECT cores FROM j) SELECT * FROM a", "cores"},
      {"SELECT * FROM (SELECT state, count(*) AS n FROM j GROUP BY 1) WHERE n > 1", "state"},
      {"SELECT *, (SELECT max(cores) FROM j) FROM period", "cores"},
      {"SELECT * FROM (SELECT cores FROM j UNION ALL SELECT nodes FROM j2)", "cores nodes"},

      // Too many are harmless.
      {"SELECT 'state' AS t, max(cores) AS nodes FROM j", "cores nodes state"},
      {"SELECT 1", ""},
  };
  for (const auto& [sql, columns] : rows) EXPECT_EQ(of(sql), columns) << sql;
}

TEST_F(UsedColumns, AreOfTheViewsThatTheSqlNames) {
  const std::pair<const char*, std::set<std::string>> rows[] = {
      {"SELECT count(*) FROM j", {"j"}},
      {"SELECT count(*) FROM J2", {"j2"}},
      {"SELECT 1 FROM temp.j_all AS x", {"j_all"}},
      {"SELECT a.cores FROM j a JOIN j2 b ON a.nodes = b.nodes", {"j", "j2"}},
      {"SELECT (SELECT max(cores) FROM j_all) FROM period WHERE EXISTS (SELECT 1 FROM j)", {"j", "j_all"}},
      {"WITH a AS (SELECT cores FROM j2) SELECT cores FROM a UNION SELECT nodes FROM j_all", {"j2", "j_all"}},
      {"SELECT days FROM period", {}},
      {"SELECT 'j' AS j2", {}},
  };
  for (const auto& [sql, views] : rows) {
    const auto used = used_columns(store_.connection(), sql);
    ASSERT_TRUE(used) << sql;
    EXPECT_EQ(used->views, views) << sql;
  }
}

TEST_F(UsedColumns, AreAllWhereTheSqlDoesNotNameThem) {
  for (const char* sql : {"SELECT * FROM j",
                          "SELECT j.* FROM j",
                          "SELECT *, cores FROM period, j",
                          "FROM j",
                          "SELECT * EXCLUDE (cores) FROM j",
                          "SELECT max(COLUMNS('c.*')) FROM j",
                          "SELECT j FROM j",
                          "SELECT to_json(x) FROM j AS x",
                          "SELECT days FROM j NATURAL JOIN period",
                          "SUMMARIZE j",
                          "SELECT column_name FROM (DESCRIBE j)",
                          "SELECT cores FROM (TABLE j2)",
                          "SELECT b FROM j AS x(a, b)",
                          "SELECT share FROM coverage",
                          "SELECT column_name FROM duckdb_columns() WHERE table_name = 'j'",
                          "SELECT #3 FROM (SELECT * FROM j)",
                          "SELECT cores FROM query('SELECT cores FROM j2')",
                          "SELECT * FROM (PIVOT j ON state USING sum(cores))",
                          "SELECT count(*) FROM (SELECT * FROM j2)",
                          "SELECT",
                          "SELECT 1; SELECT 2 FROM j; x"})
    EXPECT_EQ(of(sql), "all") << sql;
}

}  // namespace
}  // namespace sickbay::workload
