// SPDX-License-Identifier: Apache-2.0
// The views that SQL of reports sees, over a store of five jobs.
#include "workload/report/views.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/report/report_test_parts.h"
#include "workload/report/row_range.h"

namespace sickbay::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Views : public testing::Test {
 protected:
  Views() { order_.site = default_site(); }
  void make() {
    auto sql = views_sql(connection(), order_);
    ASSERT_TRUE(sql) << sql.error().line();
    const Status made = connection().execute(*sql);
    ASSERT_TRUE(made) << made.error().line() << made.error().cause << *sql;
  }
  duck::Connection& connection() { return store_.connection(); }
  std::string ask(const std::string& sql) { return rows(connection(), sql); }

  Store store_ = store_with_jobs();
  ViewOrder order_;
};

TEST_F(Views, DeriveTimes) {
  make();
  EXPECT_EQ(ask("SELECT job_id, wait_s, hold_s, queue_s, day, month FROM j ORDER BY job_id"),
            "1|3600|0|3600|2021-05-02|2021-05-01\n"
            "2|300|600|0|2021-05-02|2021-05-01\n"  // eligible again after its start: 0, not -300
            "3|7200|||2021-05-13|2021-05-01\n"
            "4||||2021-05-20|2021-05-01\n"
            "5|1|||2021-05-21|2021-05-01\n");
}

TEST_F(Views, DeriveHoursAndShares) {
  make();
  EXPECT_EQ(ask("SELECT job_id, core_s, core_h, node_h, gpu_h, cpu_eff, limit_share FROM j ORDER BY job_id"),
            "1|14400|4|1|0|0.5|0.5\n"
            "2|7680|2.13|0.033|0.033||0.1\n"  // cpu_time unknown: cores times run time
            "3|259200|72|72|0||\n"            // used more than it could: no efficiency
            "4|0|0|0|||0\n"
            "5|80|0.022|0.003|||0.017\n");
}

TEST_F(Views, DeriveStates) {
  make();
  EXPECT_EQ(ask("SELECT job_id, started, finished, ok, debug, known, lost FROM j ORDER BY job_id"),
            "1|yes|yes|yes|no|yes|no\n"
            "2|yes|yes|no|yes|no|yes\n"
            "3|yes|yes|yes|no|yes|no\n"
            "4|no|yes|no|yes|yes|no\n"
            "5|yes|no|no|yes|no|no\n");
}

TEST_F(Views, ClassSizesAndRunTimes) {
  make();
  EXPECT_EQ(ask("SELECT job_id, size_class, size_rank, time_class, time_rank FROM j ORDER BY job_id"),
            "1|2-15|2|30 min-1 h|4\n"
            "2|64-255|4|up to 1 min|1\n"
            "3|1|1|1-3 d|7\n"
            "4|64-255|4||\n"  // never ran; its size is what it asked for
            "5|2-15|2|up to 1 min|1\n");
}

TEST_F(Views, HaveEachDerivedColumnAndNoOther) {
  make();
  std::string all;
  for (const std::string& column : j_columns()) all += column + "\n";
  EXPECT_EQ(ask("SELECT column_name FROM (DESCRIBE j)"), all);
}

TEST_F(Views, KnowTheZoneWithItsChanges) {
  // Central European Summer Time begins within the period (moved to the tenth of May for the test).
  order_.zone = {{0, 3600}, {to_unix_seconds(utc("2021-05-10T01:00:00")), 7200}, {4102444800, 3600}};
  make();
  EXPECT_EQ(ask("SELECT submit_local, start_local, day FROM j WHERE job_id IN ('1', '3') ORDER BY job_id"),
            "2021-05-01 23:30|2021-05-02 00:30|2021-05-02\n"
            "2021-05-10 01:00|2021-05-10 04:00|2021-05-13\n");
  EXPECT_EQ(ask("SELECT begins, ends FROM period"), "2021-05-02 00:30|2021-05-21 02:00:02\n");
}

TEST_F(Views, OfAPeriodHaveTheJobsThatLivedInIt) {
  order_.filter.from = utc("2021-05-02T00:00:00");
  order_.filter.to = utc("2021-05-12T00:00:00");
  order_.compare = Period{utc("2021-05-20T00:30:00"), utc("2021-06-01T00:00:00")};
  make();
  EXPECT_EQ(ask("SELECT job_id FROM j ORDER BY job_id"), "1\n2\n3\n");
  EXPECT_EQ(ask("SELECT job_id FROM j2 ORDER BY job_id"), "4\n5\n");
  EXPECT_EQ(ask("SELECT begins, ends, days FROM period"), "2021-05-02|2021-05-12|10\n");
  EXPECT_EQ(ask("SELECT begins, ends, days FROM period2"), "2021-05-20 00:30|2021-06-01|12\n");
}

// A store of years: what a month is asked of stands in a few blocks of it, and that changes nothing else.
TEST_F(Views, OfAPeriodReadTheBlocksInWhichItsJobsStand) {
  const auto more = [&](const char* year) {
    const Status added =
        connection().execute(fmt::format("INSERT INTO jobs (job_id, job_id_raw, state, submit_time, "
                                         "start_time, end_time, elapsed, cpus) SELECT "
                                         "'{0}-' || i, {0} * 1000000 + i, 'COMPLETED', t, t, t + INTERVAL 1 "
                                         "HOUR, 3600, 2 FROM (SELECT i, TIMESTAMP "
                                         "'{0}-01-01' + to_minutes(i) AS t FROM range(400000) AS r(i))",
                                         year));
    ASSERT_TRUE(added) << added.error().line();
  };
  more("2022"), more("2023");
  const auto ids = [&] {
    make();
    return ask("SELECT job_id FROM j ORDER BY job_id") + ask("SELECT count(*), sum(core_h) FROM j2");
  };
  const auto of = [&](const char* from, const char* to) {
    order_.filter.from = utc(from), order_.filter.to = utc(to);
  };
  of("2021-05-10T00:00:00", "2021-05-25T00:00:00");
  order_.compare = Period{utc("2023-02-01T00:00:00"), utc("2023-02-02T00:00:00")};
  const std::string whole = ids();
  ASSERT_TRUE(find_rows(connection(), order_));
  ASSERT_EQ(order_.stand.rows.size(), 1u);
  EXPECT_EQ(order_.stand.rows[0].last, 4);
  EXPECT_FALSE(order_.stand.ends) << "job 5 has none";
  // Job 5 runs since 2021: it has something in each later period.
  ASSERT_EQ(order_.compare_stand.rows.size(), 2u);
  EXPECT_EQ(order_.compare_stand.rows[0].last, 4);
  EXPECT_GT(order_.compare_stand.rows[1].first, 400'005);
  EXPECT_EQ(ids(), whole);
  const std::string compared = ask("SELECT count(*), sum(core_h) FROM j2");
  // Runs are those of the period's ids.
  of("2022-02-01T00:00:00", "2022-02-02T00:00:00");
  ASSERT_TRUE(find_rows(connection(), order_));
  make();
  EXPECT_EQ(ask("SELECT count(*) FROM j JOIN runs USING (job_id_raw)"),
            ask("SELECT count(*) FROM j JOIN jobs USING (job_id_raw)"));
  EXPECT_EQ(ask("SELECT count(*) < 2000 FROM runs WHERE job_id_raw > 1000000000"), "yes\n");
  of("2020-01-01T00:00:00", "2020-02-01T00:00:00");
  ASSERT_TRUE(find_rows(connection(), order_));
  EXPECT_EQ(ids(), compared) << "no job";
  EXPECT_EQ(ask("SELECT count(*) FROM runs"), "0\n");
  of("2021-01-01T00:00:00", "2023-12-01T00:00:00");
  ASSERT_TRUE(find_rows(connection(), order_));
  EXPECT_TRUE(order_.stand.rows.empty()) << "it would save nothing";
  make();
  EXPECT_EQ(ask("SELECT count(*) FROM runs"), ask("SELECT count(*) FROM jobs"));
}

TEST_F(Views, OfAPeriodFindJobsByTheirEndsWhereEachHasOne) {
  ASSERT_TRUE(connection().execute(
      "INSERT INTO jobs (job_id, job_id_raw, state, submit_time, start_time, end_time, elapsed, cpus) SELECT "
      "i, i, 'COMPLETED', t, t, t + INTERVAL 1 HOUR, 3600, 2 FROM (SELECT i, TIMESTAMP '2022-01-01' + "
      "to_minutes(i) AS t FROM range(700000) AS r(i))"));
  order_.filter.from = utc("2022-02-01T00:00:00"), order_.filter.to = utc("2022-02-02T00:00:00");
  const auto ids = [&] {
    make();
    return ask("SELECT job_id, within FROM j ORDER BY job_id");
  };
  const std::string whole = ids();
  ASSERT_TRUE(find_rows(connection(), order_));
  EXPECT_FALSE(order_.stand.ends) << "job 5 has none";
  EXPECT_EQ(ids(), whole);
  order_.stand = {};
  ASSERT_TRUE(connection().execute("DELETE FROM jobs WHERE end_time IS NULL"));
  const std::string ended = ids();
  EXPECT_NE(ended, whole);
  ASSERT_TRUE(find_rows(connection(), order_));
  ASSERT_TRUE(order_.stand.ends);
  EXPECT_EQ(order_.stand.ends->first, utc("2022-02-01T00:00:00"));
  EXPECT_EQ(order_.stand.ends->second, utc("2022-02-02T00:59:00"));
  EXPECT_EQ(ids(), ended);
}

TEST_F(Views, WithoutAComparisonHaveNoSecondPeriod) {
  make();
  EXPECT_EQ(ask("SELECT count(*) FROM j2"), "0\n");
  EXPECT_EQ(ask("SELECT begins IS NULL, count(*) OVER () FROM period2"), "yes|1\n");
  EXPECT_EQ(ask("SELECT begins, ends FROM period"), "2021-05-01 23:30|2021-05-21 00:00:02\n");
}

TEST_F(Views, FilterByEachKind) {
  const auto jobs_with = [&](auto change) {
    order_.filter = {};
    change(order_.filter);
    make();
    std::string ids;
    for (const char c : ask("SELECT job_id FROM j ORDER BY job_id"))
      if (c != '\n') ids += c;
    return ids;
  };
  EXPECT_EQ(jobs_with([](Filter& f) { f.users = {"ann", "eve"}; }), "12");
  EXPECT_EQ(jobs_with([](Filter& f) { f.accounts = {"chem"}; }), "345");
  EXPECT_EQ(jobs_with([](Filter& f) { f.partitions = {"gpu"}; }), "2345");  // job 2 asked for cpu,gpu
  EXPECT_EQ(jobs_with([](Filter& f) { f.applications = {"VASP", "unknown"}; }), "12");
  EXPECT_EQ(jobs_with([](Filter& f) { f.states = {"failed", "Cancelled"}; }), "24");
  EXPECT_EQ(jobs_with([](Filter& f) { f.min_cpus = 64; }), "24");
  EXPECT_EQ(jobs_with([](Filter& f) { f.max_cpus = 4; }), "13");
  EXPECT_EQ(jobs_with([](Filter& f) { f.users = {"o'brien' OR 1=1 --"}; }), "");
}

TEST_F(Views, TellHowFarColumnsAreFilled) {
  order_.filter.users = {"ann"};
  make();
  EXPECT_EQ(ask("SELECT * FROM coverage WHERE column_name IN ('job_id', 'cpu_time', 'energy') ORDER BY 1"),
            "cpu_time|1|2|0.5\nenergy|0|2|0\njob_id|2|2|1\n");
}

TEST_F(Views, HoldTheUsersOfTheSite) {
  order_.site.users = {{"ann", "Ann O'Hara", "theory", "physics"}, {"bob", "", "", ""}};
  make();
  EXPECT_EQ(ask("SELECT * FROM users ORDER BY 1"), "ann|Ann O'Hara|theory|physics\nbob|||\n");
}

TEST_F(Views, ChargeThePartInThePeriodAndHaveAllJobsBesides) {
  order_.filter.from = utc("2021-05-02T00:00:00");
  order_.filter.to = utc("2021-05-12T00:00:00");
  make();
  EXPECT_EQ(ask("SELECT count(*) FROM j WHERE charge IS DISTINCT FROM core_h"), "0\n");
  EXPECT_EQ(ask("SELECT count(*) FROM j_all"), ask("SELECT count(*) FROM jobs"));
  EXPECT_EQ(ask("SELECT count(*) FROM j_all WHERE within <> 1"), "0\n");
  order_.filter.users = {"ann"};
  order_.site.charges.rates = {*parse_charge_rate("*", "CPU=0.5")};
  make();
  EXPECT_EQ(ask("SELECT count(*) FROM j WHERE charge IS DISTINCT FROM core_h / 2"), "0\n");
  EXPECT_EQ(ask("SELECT count(*) FROM j_all"), ask("SELECT count(*) FROM jobs WHERE user_name = 'ann'"));
}

TEST_F(Views, KeepBrokenClocksOutOfThePeriod) {
  ASSERT_TRUE(
      connection().execute("INSERT INTO jobs (job_id, submit_time, end_time, flaws) VALUES ('6', "
                           "'2021-05-03', '2099-01-01', 128)"));
  ASSERT_EQ(bit(Flaw::in_future), 128);
  make();
  EXPECT_EQ(ask("SELECT ends FROM period"), "2021-05-21 00:00:02\n");
}

TEST_F(Views, TakeTheStartFromTheStateWhereALogHasNoTimes) {
  ASSERT_TRUE(connection().execute(
      "DELETE FROM jobs; INSERT INTO jobs (job_id, state, submit_time, elapsed, steps) VALUES "
      "('1', 'COMPLETED', NULL, NULL, NULL), ('2', 'PENDING', NULL, NULL, NULL), "
      "('3', 'CANCELLED', NULL, NULL, NULL), ('4', 'CANCELLED', NULL, NULL, 1), ('5', 'CANCELLED', NULL, 7, "
      "0), "
      "('6', 'FAILED', '2021-05-01', NULL, NULL), ('7', NULL, NULL, NULL, NULL)"));
  make();
  EXPECT_EQ(ask("SELECT job_id, started FROM j ORDER BY 1"), "1|yes\n2|no\n3|no\n4|yes\n5|yes\n6|no\n7|no\n");
}

TEST_F(Views, BoundTheEfficiencyAlsoWhereCoresWereOnlyAskedFor) {
  ASSERT_TRUE(connection().execute(
      "DELETE FROM jobs; INSERT INTO jobs (job_id, req_cpus, elapsed, total_cpu, flaws) "
      "VALUES ('1', 2, 100, 1999999, 0), ('2', 2, 100, 2100000, 0), ('3', 2, 100, 1000, 4)"));
  ASSERT_EQ(bit(Flaw::over_used), 4);
  make();
  EXPECT_EQ(ask("SELECT job_id, round(cpu_eff, 3) FROM j ORDER BY 1"), "1|10\n2|\n3|\n");
}

TEST_F(Views, CountAnHourOfADownNodeOnce) {
  ASSERT_TRUE(connection().execute(
      "INSERT INTO node_events (node, state, begins, ends, cpus, reason) VALUES ('n1', 'DOWN*', '2021-05-02 "
      "10:00:00', '2021-05-02 12:00:00', 4, 'a'), "
      "('n1', 'IDLE+DRAIN', '2021-05-02 11:00:00', '2021-05-02 13:00:00', 4, 'b'), "
      "('n1', 'MAINT', '2021-05-02 11:00:00', '2021-05-02 11:30:00', 4, 'c'), "
      "('n2', 'DOWN', '2021-05-02 11:00:00', NULL, 4, NULL), ('n2', 'DRAINING', '2021-05-02', NULL, 4, 'd'), "
      "('n3', 'DOWN', '2021-04-01', '2021-04-02', 4, 'before')"));
  order_.filter.from = utc("2021-05-02T00:00:00");
  order_.filter.to = utc("2021-05-03T00:00:00");
  make();
  EXPECT_EQ(ask("SELECT node, hour(begins), hour(ends), hour(counted_from), counted_from < ends, reason "
                "FROM node_down ORDER BY node, reason"),
            "n1|10|12|10|yes|a\nn1|11|13|12|yes|b\nn1|11|11|12|no|c\nn2|11|0|11|yes|\n");
}

TEST_F(Views, KeepTheLastFewJobsOutOfThePeriodAndNoLongOne) {
  const char* const many =
      "DELETE FROM jobs; INSERT INTO jobs (job_id, submit_time, end_time) SELECT i, TIMESTAMP '2021-05-01', "
      "TIMESTAMP '2021-05-01' + INTERVAL {} DAY * (i = 0)::INT FROM range({}) r(i)";
  const auto period_of = [&](int jobs) {
    ASSERT_TRUE(connection().execute(fmt::format(fmt::runtime(many), 30, jobs)));
    make();
  };
  period_of(100);
  EXPECT_EQ(ask("SELECT ends FROM period"), "2021-05-01 00:00:01\n");
  period_of(99);
  EXPECT_EQ(ask("SELECT ends FROM period"), "2021-05-31 00:00:01\n");
}

TEST_F(Views, NameFilterValuesThatNoJobHas) {
  Filter filter;
  filter.users = {"an", "bob"};
  filter.partitions = {"gpu", "cpus"};
  filter.states = {"completed"};
  auto sentences = unknown_filter_values(connection(), filter);
  ASSERT_TRUE(sentences);
  EXPECT_THAT(*sentences, ElementsAre("no job is of the user 'an'; did you mean 'ann'?",
                                      "no job is of the partition 'cpus'; did you mean 'cpu'?"));
  EXPECT_EQ(describe_filter(filter), "users an, bob; partitions gpu, cpus; state completed");
}

TEST(Site, LaysItsClassesOverTheDefaults) {
  auto site = parse_site(R"({"size_classes": [{"name": "one", "most": 1}, 16, {"name": "big"}],
                             "run_time_classes": ["90s", "1h"], "debug_length": "10m", "users": "u.json",
                             "parameters": {"a.b.c": 3}})",
                         "site.json");
  ASSERT_TRUE(site) << site.error().line();
  ASSERT_EQ(site->size_classes.size(), 3u);
  EXPECT_EQ(site->size_classes[1].name, "2-16");
  EXPECT_EQ(site->size_classes[2].name, "big");
  ASSERT_EQ(site->run_time_classes.size(), 3u);
  EXPECT_EQ(site->run_time_classes[0].name, "up to 90 s");
  EXPECT_EQ(site->run_time_classes[1].name, "90 s-1 h");
  EXPECT_EQ(site->run_time_classes[2].name, "over 1 h");
  EXPECT_EQ(site->debug_length.count(), 600);
  EXPECT_EQ(site->parameters[0].second, "3");
}

TEST(Site, NamesEachFaultWithItsPlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"size_class": []})", "site.json:1:16: unknown key 'size_class'; did you mean 'size_classes'?"},
      {R"({"size_classes": []})", "must be a list of classes"},
      {R"({"size_classes": [8, 4]})", "site.json:1:22: the bounds must rise"},
      {R"({"size_classes": ["8"]})", "must be a number of cores"},
      {R"({"run_time_classes": ["8 hours"]})", "must be a duration"},
      {R"({"size_classes": [{"name": "a"}, 3]})", "only the last class has no bound"},
      {R"({"debug_length": true})", "must be a duration"},
      {R"({"title": 3})", "'title' must be a text"},
      {R"({"parameters": {"a": []}})", "must be a number or a text"},
  };
  for (const auto& [text, said] : wrong) {
    auto site = parse_site(text, "site.json");
    ASSERT_FALSE(site) << text;
    EXPECT_THAT(site.error().what, HasSubstr(said)) << text;
  }
  EXPECT_THAT(parse_users(R"({"ann": {"teem": "x"}})", "u.json").error().what,
              HasSubstr("did you mean 'team'?"));
  EXPECT_THAT(parse_users(R"({"ann": 3})", "u.json").error().what, HasSubstr("u.json:1:9"));
}

}  // namespace
}  // namespace sickbay::workload
