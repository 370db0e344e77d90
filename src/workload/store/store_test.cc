// SPDX-License-Identifier: Apache-2.0
#include "workload/store/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "workload/store/schema.h"

namespace sickbay::workload {
namespace {

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    char name[] = "/tmp/sickbay-store-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~StoreTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static StoreOptions at(const std::string& path, StoreMode mode) {
    StoreOptions o;
    o.path = path;
    o.mode = mode;
    o.threads = 1;
    return o;
  }
  std::string folder_;
};

TEST(Schema, EveryStoredFieldIsAColumnOnce) {
  std::set<std::string_view> names;
  for (const JobColumn& c : job_columns()) EXPECT_TRUE(names.insert(c.name).second) << c.name;
  std::size_t stored = 0;
  for (const auto& f : kNumFields) stored += f.column != Column::no;
  for (const auto& f : kTextFields) stored += f.column != Column::no;
  EXPECT_EQ(names.size(), stored);
  EXPECT_EQ(job_columns()[0].name, "job_id");
  EXPECT_FALSE(names.count("usage_cpu")) << "a fact of steps is no column";
}

TEST_F(StoreTest, MadeOnceAndFoundAgainWithTheColumnsOfTheFields) {
  {
    auto made = Store::open(at(path("a.db"), StoreMode::create));
    ASSERT_TRUE(made) << made.error().line();
    ASSERT_TRUE(
        made->connection().execute("INSERT INTO jobs(job_id, submit_time) VALUES ('7', '2021-05-01')"));
  }
  for (const StoreMode mode : {StoreMode::create, StoreMode::write, StoreMode::read}) {
    auto again = Store::open(at(path("a.db"), mode));
    ASSERT_TRUE(again) << again.error().line();
    auto jobs = again->connection().query("SELECT * FROM jobs");
    ASSERT_TRUE(jobs) << jobs.error().line();
    ASSERT_EQ(jobs->rows.size(), 1U);
    ASSERT_EQ(jobs->columns.size(), job_columns().size());
    for (std::size_t i = 0; i < jobs->columns.size(); ++i) {
      EXPECT_EQ(jobs->columns[i].name, job_columns()[i].name);
      EXPECT_EQ(jobs->columns[i].type, job_columns()[i].type) << jobs->columns[i].name;
    }
  }
}

TEST_F(StoreTest, OneInMemoryHasAllTables) {
  auto store = Store::open({});
  ASSERT_TRUE(store) << store.error().line();
  for (const char* table : {"jobs", "imports", "rejects", "node_events", "nodes", "run_records", "meta"})
    EXPECT_TRUE(store->connection().query(std::string("SELECT count(*) FROM ") + table)) << table;
}

TEST_F(StoreTest, OnlyCreateMakesAFile) {
  for (const StoreMode mode : {StoreMode::write, StoreMode::read}) {
    auto none = Store::open(at(path("none.db"), mode));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::not_found);
    EXPECT_FALSE(std::filesystem::exists(path("none.db")));
  }
}

// The tables that later versions changed, as version 1 made them.
constexpr const char* kAsInVersion1 =
    "DROP TABLE node_events; DROP TABLE nodes; DROP TABLE run_records;"
    "CREATE TABLE node_events(node VARCHAR, state VARCHAR, begins TIMESTAMP, ends TIMESTAMP, cpus BIGINT, "
    "reason VARCHAR);"
    "CREATE TABLE nodes(node VARCHAR, cpus BIGINT, memory BIGINT, gpus BIGINT, partitions VARCHAR);"
    "INSERT INTO nodes VALUES ('n1', 4, 5, 6, 'cpu');"
    "INSERT INTO node_events VALUES ('n1', 'DOWN', '2021-05-01', NULL, 4, 'disk');"
    "UPDATE meta SET value = '1' WHERE name = 'store_version'";

TEST_F(StoreTest, AnOlderOneIsRaisedAndIsThenLikeANewOne) {
  const auto tables = [](Store& store) {
    auto columns = store.connection().query(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal AND "
        "database_name "
        "<> 'temp' ORDER BY table_name, column_index");
    EXPECT_TRUE(columns) << columns.error().line();
    return columns->rows;
  };
  const auto look = [](Store& store) {
    auto row = store.connection().query(
        "SELECT n.node, n.cpus, n.cluster, n.valid_from, e.reason, e.cluster FROM nodes n JOIN node_events e "
        "USING (node)");
    EXPECT_TRUE(row) << row.error().line();
    ASSERT_EQ(row->rows.size(), 1U);
    const std::vector<duck::Value> wanted = {std::string("n1"), std::int64_t{4},     duck::Value(),
                                             duck::Value(),     std::string("disk"), duck::Value()};
    EXPECT_EQ(row->rows[0], wanted);
  };
  {
    auto store = Store::open(at(path("old.db"), StoreMode::create));
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->connection().execute(kAsInVersion1));
  }
  {  // Read only, it stays what it is, and looks like a new one.
    auto read = Store::open(at(path("old.db"), StoreMode::read));
    ASSERT_TRUE(read) << read.error().line();
    look(*read);
    auto version = read->connection().query("SELECT value FROM meta");
    ASSERT_TRUE(version);
    EXPECT_EQ(version->rows[0][0], duck::Value(std::string("1")));
  }
  auto fresh = Store::open({});
  ASSERT_TRUE(fresh);
  for (int i = 0; i < 2; ++i) {
    auto raised = Store::open(at(path("old.db"), StoreMode::write));
    ASSERT_TRUE(raised) << raised.error().line();
    EXPECT_EQ(tables(*raised), tables(*fresh));
    look(*raised);
    auto version = raised->connection().query("SELECT value FROM meta");
    ASSERT_TRUE(version);
    EXPECT_EQ(version->rows[0][0], duck::Value(std::to_string(kStoreVersion)));
  }
}

TEST_F(StoreTest, ANewerStoreIsRefused) {
  {
    auto store = Store::open(at(path("new.db"), StoreMode::create));
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->connection().execute("UPDATE meta SET value = '4' WHERE name = 'store_version'"));
  }
  auto refused = Store::open(at(path("new.db"), StoreMode::create));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::too_new);
  EXPECT_NE(refused.error().line().find("version 4"), std::string::npos) << refused.error().line();
}

TEST_F(StoreTest, AForeignDatabaseIsLeftAlone) {
  {
    duck::OpenOptions o;
    o.path = path("foreign.db");
    auto database = duck::Database::open(o);
    ASSERT_TRUE(database);
    auto connection = database->connect();
    ASSERT_TRUE(connection);
    ASSERT_TRUE(connection->execute("CREATE TABLE mine(x INTEGER)"));
  }
  auto refused = Store::open(at(path("foreign.db"), StoreMode::create));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::storage_broken);
}

}  // namespace
}  // namespace sickbay::workload
