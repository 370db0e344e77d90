// SPDX-License-Identifier: Apache-2.0
// sickbay sql and export over a real store, as the command line calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/cli/command_line.h"
#include "base/json.h"
#include "workload/store/store.h"

namespace sickbay::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SqlCommand : public testing::Test {
 protected:
  SqlCommand() {
    char name[] = "/tmp/sickbay-sql-XXXXXX";
    folder_ = mkdtemp(name);
    ::setenv("SICKBAY_STORE", (folder_ + "/jobs.duckdb").c_str(), 1);
    workload::StoreOptions o;
    o.path = folder_ + "/jobs.duckdb";
    auto store = workload::Store::open(o);
    EXPECT_TRUE(store) << store.error().line();
    EXPECT_TRUE(
        store->connection().execute("INSERT INTO jobs (job_id, user_name, submit_time, cpus) "
                                    "SELECT i::VARCHAR, 'u' || i % 2, TIMESTAMP '2021-05-01' + INTERVAL (i) "
                                    "MINUTE, i FROM range(20000) t(i)"));
  }
  ~SqlCommand() override {
    ::unsetenv("SICKBAY_STORE");
    fs::remove_all(folder_);
  }
  // Exit code; what was printed is in out_ and err_.
  int run(std::vector<std::string> words) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = parse_command_line(words);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }
  std::string folder_, out_, err_;
};

TEST_F(SqlCommand, AsksTheStore) {
  EXPECT_EQ(run({"sql", "SELECT user_name, sum(cpus) AS cpus FROM jobs GROUP BY ALL ORDER BY 1"}), 0) << err_;
  EXPECT_EQ(out_,
            "user_name       cpus\n"
            "u0          99990000\n"
            "u1         100000000\n");
  EXPECT_EQ(run({"sql", "--json", "SELECT job_id, submit_time FROM jobs ORDER BY cpus LIMIT 1"}), 0) << err_;
  EXPECT_EQ(out_, "[\n{\"job_id\":\"0\",\"submit_time\":\"2021-05-01T00:00:00Z\"}\n]\n");
}

// It said "duckdb", one line for all users.
TEST_F(SqlCommand, TheUserIsNotWhoAsksDuckDb) {
  for (const char* sql : {"SELECT user FROM jobs LIMIT 1", "SELECT user, count(*) FROM jobs GROUP BY user",
                          "SELECT count(*) FROM jobs WHERE user = 'u1'"}) {
    EXPECT_EQ(run({"sql", sql}), 65) << sql << out_;
    EXPECT_THAT(err_, HasSubstr("the user of a job is user_name")) << sql;
  }
  EXPECT_EQ(run({"sql", "SELECT user FROM (SELECT user_name AS user FROM jobs) ORDER BY 1 LIMIT 1"}), 0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("u0"));
}

TEST_F(SqlCommand, CutsATableAndSaysSo) {
  EXPECT_EQ(run({"sql", "SELECT job_id FROM jobs"}), 0);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 10'001);
  EXPECT_THAT(err_, HasSubstr("the table ends after 10000 rows"));
  EXPECT_EQ(run({"sql", "--format", "csv", "SELECT job_id FROM jobs"}), 0);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 20'001);
  EXPECT_EQ(err_, "");
}

TEST_F(SqlCommand, WritesOnlyWhenTold) {
  EXPECT_EQ(run({"sql", "DELETE FROM jobs"}), 65);
  EXPECT_THAT(err_, HasSubstr("--write"));
  EXPECT_EQ(run({"sql", "--json", "COPY jobs TO '" + folder_ + "/out.csv'"}), 77) << "no files either";
  EXPECT_EQ(Json::parse(out_)->operator[]("code").as_string(), "denied") << out_;
  EXPECT_FALSE(fs::exists(folder_ + "/out.csv"));
  EXPECT_EQ(run({"sql", "--write", "CREATE TABLE mine AS SELECT 1 AS a; DELETE FROM jobs WHERE cpus > 9"}), 0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("19990"));
  EXPECT_EQ(run({"sql", "--format", "csv", "SELECT count(*) AS n FROM jobs, mine"}), 0) << err_;
  EXPECT_EQ(out_, "n\n10\n");
}

TEST_F(SqlCommand, TellsWhereTheSqlIsWrong) {
  EXPECT_EQ(run({"sql", "SELECT no_such FROM jobs"}), 65);
  EXPECT_THAT(err_, HasSubstr("LINE 1: SELECT no_such"));
  // A result that breaks half way leaves no half of JSON with an error in it.
  // (DuckDB makes some 100,000 rows ahead.)
  EXPECT_EQ(run({"sql", "--json",
                 "SELECT CASE WHEN i = 300000 THEN error('late') ELSE i END AS i FROM range(400000) t(i)"}),
            65);
  EXPECT_THAT(err_, HasSubstr("late"));
  EXPECT_THAT(out_, testing::StartsWith("[\n{\"i\":0},\n"));
  EXPECT_EQ(out_.find("\"code\""), std::string::npos);
  EXPECT_EQ(run({"sql", "--json", "SELECT error('early')"}), 65);
  EXPECT_EQ(Json::parse(out_)->operator[]("code").as_string(), "bad_input") << out_;
}

TEST_F(SqlCommand, ExportsWhatIsReadBack) {
  EXPECT_EQ(run({"export", "--parquet", folder_ + "/parquet", "--json"}), 0) << err_;
  auto said = Json::parse(out_);
  ASSERT_TRUE(said) << out_;
  EXPECT_EQ((*said)["jobs"].as_int(), 20'000);
  EXPECT_EQ(run({"sql", "--write", "--format", "csv",
                 "SELECT year, month, count(*) AS n, sum(cpus) AS cpus FROM read_parquet('" + folder_ +
                     "/parquet/*/*/*.parquet', hive_partitioning = true) GROUP BY ALL"}),
            0)
      << err_;
  EXPECT_EQ(out_, "year,month,n,cpus\n2021,5,20000,199990000\n");
  EXPECT_EQ(run({"export", "--parquet", folder_ + "/parquet"}), 73);
}

}  // namespace
}  // namespace sickbay::cli
