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
  for (const char* table : {"jobs", "imports", "rejects", "node_events", "nodes", "meta"})
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

TEST_F(StoreTest, ANewerStoreIsRefused) {
  {
    auto store = Store::open(at(path("new.db"), StoreMode::create));
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->connection().execute("UPDATE meta SET value = '2' WHERE name = 'store_version'"));
  }
  auto refused = Store::open(at(path("new.db"), StoreMode::create));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::too_new);
  EXPECT_NE(refused.error().line().find("version 2"), std::string::npos) << refused.error().line();
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
