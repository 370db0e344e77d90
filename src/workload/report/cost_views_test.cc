// SPDX-License-Identifier: Apache-2.0
// What failures and checkpoints cost, beside the jobs of a log: each counted once, in the period in which it
// lies, however the period is cut.
#include "workload/report/cost_views.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "workload/report/report_test_parts.h"

namespace sickbay::workload {
namespace {

// Job 7 ran three times: the log has all three.  Job 8 did, and the log (sacct without --duplicates) has the
// last run alone.  Job 9's id was another job's before.
constexpr const char* kRuns =
    "DELETE FROM jobs;"
    "INSERT INTO jobs (job_id, job_id_raw, user_name, partition, state, submit_time, start_time, end_time, "
    "elapsed, cpus, req_cpus, nodes, restarts) VALUES "
    "('7',7,'ann','cpu','NODE_FAIL','2021-05-01 00:00:00','2021-05-01 00:00:00','2021-05-01 "
    "04:00:00',14400,8,8,2,0),"
    "('7',7,'ann','cpu','NODE_FAIL','2021-05-01 04:00:00','2021-05-01 05:00:00','2021-05-01 "
    "09:00:00',14400,4,4,1,1),"
    "('7',7,'ann','cpu','COMPLETED','2021-05-01 09:00:00','2021-05-01 10:00:00','2021-05-01 "
    "12:00:00',7200,2,2,1,2),"
    "('8',8,'bob','gpu','COMPLETED','2021-05-03 00:00:00','2021-05-03 00:00:00','2021-05-03 "
    "02:00:00',7200,16,16,1,2),"
    "('9',9,'bob','gpu','COMPLETED','2021-05-03 00:00:00','2021-05-03 00:00:00','2021-05-03 "
    "02:00:00',7200,16,16,1,0);"
    "INSERT INTO job_failures VALUES "
    "(NULL,7,0,'NODE_FAIL','2021-05-01 04:00:00',14400000,1,true,3600000,14400000),"
    "(NULL,7,1,'NODE_FAIL','2021-05-01 09:00:00',14400000,2,true,1800000,25200000),"
    "(NULL,8,0,'NODE_FAIL','2021-05-02 10:00:00',7200000,0,true,7200000,7200000),"
    "(NULL,8,1,'REQUEUED','2021-05-02 23:00:00',3600000,0,true,3600000,3600000),"
    "(NULL,9,0,'FAILED','2020-01-01 00:00:00',3600000,0,false,3600000,3600000);"
    "INSERT INTO job_checkpoints VALUES "
    "(NULL,7,0,1,'2021-05-01 03:00:00',60000),(NULL,7,1,2,'2021-05-01 08:30:00',120000),"
    "(NULL,9,0,1,'2020-01-01 00:00:00',1000);";

class CostViews : public testing::Test {
 protected:
  CostViews() {
    order_.site = default_site();
    const Status filled = store_.connection().execute(kRuns);
    EXPECT_TRUE(filled) << filled.error().line() << filled.error().cause;
  }
  void make() {
    auto sql = views_sql(store_.connection(), order_);
    ASSERT_TRUE(sql) << sql.error().line();
    run(*sql);
  }
  // For another period or filter; the macros are those of make().
  void make_again() { run(cost_views_sql(order_, true)); }
  void run(const std::string& sql) {
    const Status made = store_.connection().execute(sql);
    ASSERT_TRUE(made) << made.error().line() << made.error().cause << sql;
  }
  std::string ask(const std::string& sql) { return rows(store_.connection(), sql); }
  double number(const std::string& sql) {
    auto table = store_.connection().query(sql);
    EXPECT_TRUE(table) << table.error().line();
    return table ? number_of(table->rows[0][0]) : -1;
  }

  Store store_ = store_with_jobs();
  ViewOrder order_;
};

TEST_F(CostViews, TakeTheRunThatWasThereAtTheTime) {
  make();
  EXPECT_EQ(ask("SELECT job_id_raw, user_name, cores, recomputed_s, saved_s, lost_core_h, saved_core_h FROM "
                "failed_runs ORDER BY job_id_raw, failed_at"),
            "7|ann|8|3,600|10,800|8|24\n"
            "7|ann|4|1,800|23,400|2|26\n"
            "8|bob|16|7,200|0|32|0\n"   // of the last run, which alone the log has
            "8|bob|16|3,600|0|16|0\n")  // and of job 9 nothing: it has run once, later
      << ask("FROM failed_runs");
  EXPECT_EQ(ask("SELECT job_id_raw, checkpoint, cores, took_s, round(checkpoint_core_h, 3) FROM "
                "checkpoints_taken ORDER BY taken_at"),
            "7|1|8|60|0.133\n7|2|4|120|0.133\n");
}

TEST_F(CostViews, AreOfTheirCluster) {
  ASSERT_TRUE(
      store_.connection().execute("UPDATE jobs SET cluster = 'a'; INSERT INTO jobs BY NAME (SELECT * REPLACE "
                                  "('b' AS cluster, 1 AS cpus) FROM "
                                  "jobs); UPDATE job_failures SET cluster = 'b' WHERE job_id_raw = 7; "
                                  "UPDATE job_failures SET cluster = 'c' WHERE job_id_raw = 8"));
  make();
  EXPECT_EQ(ask("SELECT cluster, job_id_raw, cores FROM failed_runs ORDER BY failed_at"), "b|7|1\nb|7|1\n");
}

TEST_F(CostViews, AreOfThePeriodAndTheFilter) {
  order_.filter.from = utc("2021-05-02T00:00:00");
  order_.filter.to = utc("2021-05-02T23:00:00");  // the period ends before its end
  make();
  EXPECT_EQ(ask("SELECT job_id_raw, restart FROM failed_runs"), "8|0\n")
      << "its run of the log lies behind the period";
  order_.filter = {};
  order_.filter.users = {"ann"};
  make();
  EXPECT_EQ(ask("SELECT count(*), sum(lost_core_h) FROM failed_runs"), "2|10\n");
  order_.filter = {};
  order_.filter.partitions = {"gpu"};
  make();
  EXPECT_EQ(ask("SELECT count(*), sum(lost_core_h) FROM failed_runs"), "2|48\n");
}

TEST_F(CostViews, HaveTheSameSumHoweverThePeriodIsCut) {
  make();
  const double failures = number("SELECT sum(lost_core_h) + sum(saved_core_h) FROM failed_runs");
  const double checkpoints = number("SELECT sum(checkpoint_core_h) FROM checkpoints_taken");
  EXPECT_DOUBLE_EQ(failures, 108);
  std::mt19937_64 random(20261125);
  const TimePoint first = utc("2021-04-30T00:00:00"), last = utc("2021-05-04T00:00:00");
  for (int round = 0; round < 12; ++round) {
    std::vector<TimePoint> cuts = {first, last};
    std::uniform_int_distribution<std::int64_t> seconds(0, 4 * 86400);
    for (int i = 0; i < round % 7; ++i) cuts.push_back(first + std::chrono::seconds(seconds(random)));
    // The very moments, too.
    if (round % 3 == 0) cuts.push_back(utc("2021-05-01T09:00:00"));
    if (round % 4 == 0) cuts.push_back(utc("2021-05-01T03:00:00"));
    std::ranges::sort(cuts);
    double lost = 0, cost = 0;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      if (cuts[i] == cuts[i + 1]) continue;
      order_.filter.from = cuts[i];
      order_.filter.to = cuts[i + 1];
      make_again();
      lost += number("SELECT coalesce(sum(lost_core_h) + sum(saved_core_h), 0) FROM failed_runs");
      cost += number("SELECT coalesce(sum(checkpoint_core_h), 0) FROM checkpoints_taken");
    }
    EXPECT_NEAR(lost, failures, 1e-9) << round;
    EXPECT_NEAR(cost, checkpoints, 1e-9) << round;
  }
}

TEST_F(CostViews, AreThereForAStoreFromBeforeThem) {
  Folder folder;
  const std::string path = folder.path("old.duckdb");
  {
    Store store = store_with_jobs(path);
    ASSERT_TRUE(store.connection().execute("DROP TABLE job_failures; DROP TABLE job_checkpoints"));
  }
  auto old = Store::open({.path = path, .mode = StoreMode::read});
  ASSERT_TRUE(old) << old.error().line();
  auto sql = views_sql(old->connection(), order_);
  ASSERT_TRUE(sql) << sql.error().line();
  const Status made = old->connection().execute(*sql);
  ASSERT_TRUE(made) << made.error().line() << made.error().cause;
  EXPECT_EQ(rows(old->connection(), "SELECT count(*) FROM failed_runs"), "0\n");
  EXPECT_EQ(rows(old->connection(), "SELECT count(*) FROM checkpoints_taken"), "0\n");
}

}  // namespace
}  // namespace sickbay::workload
