// SPDX-License-Identifier: Apache-2.0
// SQL that others wrote reaches the tables of the store and nothing else.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "adapters/duckdb/database.h"

namespace sickbay::duck {
namespace {

namespace fs = std::filesystem;

// A store in a folder of its own, and a file beside it that nobody may read.
class Sandbox : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("sandbox_test." + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    std::ofstream(folder_ / "secret.csv") << "a,b\nsecret,2\n";
    std::ofstream(folder_ / "secret.json") << "{\"a\": \"secret\"}\n";
    OpenOptions options;
    if (GetParam()) {
      options.path = folder_ / "store.duckdb";
      auto made = Database::open(options);
      ASSERT_TRUE(made) << made.error().line();
      ASSERT_TRUE(made->connect()->execute("CREATE TABLE jobs AS SELECT 42 AS id"));
      options.read_only = true;
    }
    options.sandboxed = true;
    auto opened = Database::open(options);
    ASSERT_TRUE(opened) << opened.error().line();
    database_.emplace(std::move(*opened));
    connection_.emplace(std::move(*database_->connect()));
    if (!GetParam()) {
      ASSERT_TRUE(connection_->execute("CREATE TABLE jobs AS SELECT 42 AS id"));
    }
  }
  void TearDown() override {
    connection_.reset();
    database_.reset();
    fs::remove_all(folder_);
  }
  std::string at(const char* name) { return quote((folder_ / name).string()); }

  fs::path folder_;
  std::optional<Database> database_;
  std::optional<Connection> connection_;
};

TEST_P(Sandbox, ReadsTheTables) {
  const std::string allowed[] = {
      "WITH j AS (FROM jobs) SELECT id FROM j",
      "SELECT id FROM jobs, range(1) r(i) ORDER BY ALL",
      "SELECT unnest([42])",
      "VALUES (42)",
      "SELECT max(i) FROM generate_series(1, 42) g(i)",
      "SELECT id AS \"enable_logging\" FROM jobs WHERE 'query(' <> 'FROM enable_logging()' -- query('x')",
      "SELECT value::INT FROM json_each('[42]')",
      "SELECT id FROM (PIVOT jobs ON id IN (42) USING count(*) GROUP BY id)",
      "FROM jobs QUALIFY row_number() OVER (ORDER BY id) = 1",
      "WITH RECURSIVE r(a) AS (SELECT 40 UNION ALL SELECT a + 1 FROM r WHERE a < 42) SELECT max(a) FROM r",
  };
  for (const std::string& sql : allowed) {
    auto table = connection_->select(sql, 10);
    ASSERT_TRUE(table) << sql << ": " << table.error().message("test");
    EXPECT_EQ(table->rows.at(0).at(0), Value(std::int64_t{42})) << sql;
  }
  EXPECT_TRUE(connection_->select("DESCRIBE jobs", 10));
  EXPECT_TRUE(connection_->select("SUMMARIZE jobs", 10));
  EXPECT_TRUE(connection_->select("SHOW TABLES", 10));
}

TEST_P(Sandbox, RefusesAllElse) {
  ::setenv("SB_SECRET", "secret", 1);
  const std::string here = folder_.string();
  const std::string refused[] = {
      // Reading files.
      "SELECT * FROM read_csv(" + at("secret.csv") + ")",
      "SELECT * FROM read_csv_auto(" + at("secret.csv") + ")",
      "SELECT * FROM sniff_csv(" + at("secret.csv") + ")",
      "SELECT * FROM " + at("secret.csv"),
      "FROM '" + here + "/secret.json'",
      "SELECT * FROM read_text(" + at("secret.csv") + ")",
      "SELECT * FROM read_blob(" + at("secret.csv") + ")",
      "SELECT * FROM read_json(" + at("secret.json") + ")",
      "SELECT * FROM read_json_objects(" + at("secret.json") + ")",
      "SELECT * FROM read_ndjson(" + at("secret.json") + ")",
      "SELECT * FROM read_parquet(" + at("secret.csv") + ")",
      "SELECT * FROM parquet_metadata(" + at("secret.csv") + ")",
      "SELECT * FROM parquet_schema(" + at("secret.csv") + ")",
      "SELECT * FROM parquet_kv_metadata(" + at("secret.csv") + ")",
      "SELECT * FROM parquet_file_metadata(" + at("secret.csv") + ")",
      "SELECT * FROM glob('" + here + "/*')",
      "SELECT * FROM read_duckdb(" + at("store.duckdb") + ")",
      "SELECT (SELECT content FROM read_text(" + at("secret.csv") + "))",
      "SELECT * FROM query('SELECT * FROM read_text(''" + here + "/secret.csv'')')",
      "SELECT * FROM query_table(" + at("secret.csv") + ")",
      "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''" + here +
          "/secret.csv'')'))",
      // The environment, and what the process knows.
      "SELECT getenv('SB_SECRET')",
      // Writing files.
      "COPY jobs TO " + at("out.csv"),
      "COPY (SELECT 1) TO " + at("out.parquet") + " (FORMAT parquet)",
      "EXPORT DATABASE " + at("out"),
      "SELECT * FROM enable_logging(storage = 'file', storage_path = '" + here + "/log')",
      "CALL enable_logging(storage = 'file', storage_path = '" + here + "/log')",
      "SELECT * FROM enable_profiling(save_location = '" + here + "/profile')",
      "SELECT * FROM import_database(" + at("secret.csv") + ")",
      // What changes the process, or goes past the check.
      "SELECT * FROM enable_logging(storage = 'stdout')",
      "SELECT * FROM system.main.\"Enable_Logging\"()",
      "SELECT 1 IN (SELECT 1 FROM disable_logging())",
      "SELECT * FROM jobs POSITIONAL JOIN enable_logging()",
      "SUMMARIZE FROM enable_logging()",
      "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r, truncate_duckdb_logs() WHERE a < 3) "
      "FROM r",
      "SELECT * FROM query('FROM enable_' || 'logging()')",
      "SELECT * FROM query('SELECT 1')",
      "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('FROM enable_logging()'))",
      "SELECT * FROM arrow_scan(1::POINTER, 1::POINTER, 1::POINTER)",
      "SELECT * FROM force_checkpoint()",
      "SELECT * FROM checkpoint()",
      "PRAGMA enable_logging",
      // Other databases, extensions, settings.
      "ATTACH " + at("other.duckdb"),
      "ATTACH ':memory:' AS m",
      "DETACH store",
      "USE memory",
      "INSTALL httpfs",
      "LOAD httpfs",
      "LOAD '" + here + "/evil.duckdb_extension'",
      "UPDATE EXTENSIONS",
      "SET memory_limit = '10GB'",
      "SET enable_external_access = true",
      "SET VARIABLE x = 1",
      "RESET memory_limit",
      "PRAGMA database_list",
      "PRAGMA enable_profiling",
      "CREATE SECRET s (TYPE s3)",
      "SELECT * FROM which_secret('x', 'y')",
      // Changing tables.
      "CREATE TABLE t (a INT)",
      "CREATE TEMP TABLE t AS SELECT 1",
      "CREATE VIEW v AS SELECT 1",
      "CREATE MACRO f(a) AS a",
      "INSERT INTO jobs VALUES (1)",
      "UPDATE jobs SET id = 1",
      "DELETE FROM jobs",
      "TRUNCATE jobs",
      "DROP TABLE jobs",
      "ALTER TABLE jobs ADD COLUMN x INT",
      "MERGE INTO jobs USING (SELECT 42 AS id) n ON jobs.id = n.id WHEN MATCHED THEN DELETE",
      "WITH x AS (DELETE FROM jobs RETURNING id) SELECT * FROM x",
      "VACUUM",
      "CHECKPOINT",
      "BEGIN",
      "PREPARE p AS SELECT 1",
      "EXPLAIN ANALYZE DELETE FROM jobs",
      "CALL pragma_version()",
      // More than one.
      "SELECT 1; SELECT 2",
      "SELECT 1; DROP TABLE jobs",
      "",
      "-- nothing",
  };
  for (const std::string& sql : refused) {
    auto answer = connection_->select(sql, 100);
    EXPECT_FALSE(answer) << sql;
    EXPECT_TRUE(answer || !answer.error().cause.empty()) << sql;
  }
  // Nothing came of it.
  auto still = connection_->select("SELECT count(*), min(id) FROM jobs", 10);
  ASSERT_TRUE(still) << still.error().line();
  EXPECT_EQ(std::get<std::int64_t>(still->rows[0][1]), 42);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  std::vector<std::string> expected = {"secret.csv", "secret.json"};
  if (GetParam()) expected.push_back("store.duckdb");
  EXPECT_EQ(names, expected);
}

INSTANTIATE_TEST_SUITE_P(Stores, Sandbox, testing::Bool(),
                         [](const auto& param) { return param.param ? "ReadOnlyFile" : "InMemory"; });

}  // namespace
}  // namespace sickbay::duck
