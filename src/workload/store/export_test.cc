// SPDX-License-Identifier: Apache-2.0
// An export, read back by DuckDB's own reader as any other engine would.
#include "workload/store/export.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sickbay::workload {
namespace {

namespace fs = std::filesystem;

class Export : public testing::Test {
 protected:
  Export() {
    char name[] = "/tmp/sickbay-export-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Export() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  // A store with jobs in three months, one of which never ended and one of which never was submitted.
  Store store() {
    StoreOptions o;
    o.path = at("jobs.duckdb");
    auto made = Store::open(o);
    EXPECT_TRUE(made) << made.error().line();
    auto filled = made->connection().execute(
        "INSERT INTO jobs (job_id, user_name, submit_time, start_time, end_time, cpus) "
        "SELECT i::VARCHAR, 'user ' || i % 7, t, t + INTERVAL 1 HOUR, t + INTERVAL 2 HOUR, i "
        "FROM (SELECT i, TIMESTAMP '2021-05-31 21:00:00' + INTERVAL (i) MINUTE AS t FROM range(1000) r(i));"
        "INSERT INTO jobs (job_id, submit_time) VALUES ('waits', '2020-12-31 23:59:59');"
        "INSERT INTO jobs (job_id) VALUES ('no time')");
    EXPECT_TRUE(filled) << filled.error().message("test");
    return std::move(*made);
  }
  // The one integer of a SELECT over the files.
  static std::int64_t read(const std::string& sql) {
    auto c = duck::Database::open({})->connect();
    auto table = c->query(sql);
    EXPECT_TRUE(table) << sql << ": " << table.error().message("test");
    const auto* n = table ? std::get_if<std::int64_t>(&table->rows.at(0).at(0)) : nullptr;
    return n ? *n : -1;
  }
  std::string folder_;
};

TEST_F(Export, IsReadBackWhole) {
  Store jobs = store();
  ASSERT_TRUE(jobs.connection().execute("CHECKPOINT"));  // for the copy below
  auto result = export_parquet(jobs, at("out/"));
  ASSERT_TRUE(result) << result.error().message("test");
  EXPECT_EQ(result->jobs, 1002u);
  EXPECT_GE(result->files, 4u);
  EXPECT_GT(result->bytes, 1000u);
  const std::string files = "read_parquet('" + at("out/*/*/*.parquet") + "', hive_partitioning = true)";
  EXPECT_EQ(read("SELECT count(*) FROM " + files), 1002);
  EXPECT_EQ(read("SELECT sum(cpus) FROM " + files), 999 * 1000 / 2);
  // Every column is there, of the same type, and the values are those of the store.
  fs::copy(at("jobs.duckdb"), at("copy.duckdb"));
  EXPECT_EQ(read(fmt::format("ATTACH '{}' AS s (READ_ONLY); SELECT count(*) FROM "
                             "(SELECT * EXCLUDE (year, month) FROM {} EXCEPT ALL SELECT * FROM s.jobs)",
                             at("copy.duckdb"), files)),
            0);
  // By the month of the end in UTC, else of the submission; pruned by folder.
  EXPECT_EQ(read("SELECT count(*) FROM " + files + " WHERE year = 2021 AND month = 5"), 60);
  EXPECT_EQ(read("SELECT count(*) FROM " + files + " WHERE year = 2020 AND month = 12 AND job_id = 'waits'"),
            1);
  EXPECT_EQ(read("SELECT count(*) FROM " + files + " WHERE year IS NULL"), 1);
  EXPECT_TRUE(fs::exists(at("out/year=2021/month=6")));
  EXPECT_EQ(read("SELECT count(*) FROM parquet_metadata('" + at("out/*/*/*.parquet") +
                 "') WHERE compression <> 'ZSTD'"),
            0);
}

TEST_F(Export, TakesAnEmptyFolderAndRefusesAllElse) {
  Store jobs = store();
  fs::create_directory(at("empty"));
  ASSERT_TRUE(export_parquet(jobs, at("empty")));
  auto again = export_parquet(jobs, at("empty"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::already_exists);
  std::ofstream(at("file")) << "mine";
  EXPECT_EQ(export_parquet(jobs, at("file")).error().code, ErrorCode::already_exists);
  EXPECT_EQ(fs::file_size(at("file")), 4u);
  EXPECT_EQ(export_parquet(jobs, at("no/such/folder")).error().code, ErrorCode::not_found);
  ASSERT_TRUE(jobs.connection().execute("DELETE FROM jobs"));
  EXPECT_EQ(export_parquet(jobs, at("none")).error().code, ErrorCode::not_found);
  EXPECT_FALSE(fs::exists(at("none")));
}

TEST_F(Export, LeavesNothingWhenItFails) {
  StoreOptions o;
  o.path = at("jobs.duckdb");
  store();
  o.mode = StoreMode::read;
  o.sandboxed = true;  // may write no file
  auto jobs = Store::open(o);
  ASSERT_TRUE(jobs) << jobs.error().line();
  EXPECT_EQ(export_parquet(*jobs, at("out")).error().code, ErrorCode::denied);
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++entries;
  EXPECT_EQ(entries, 1) << "only the store";
}

}  // namespace
}  // namespace sickbay::workload
