// SPDX-License-Identifier: Apache-2.0
#include "workload/report/log_span.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "workload/store/store.h"

namespace sickbay::workload {
namespace {

class Span : public testing::Test {
 protected:
  // Jobs of two hours that end evenly over the days from `first` on, and began that long before.
  void fill(const std::string& first, int days, int a_day, const std::string& run = "2 HOUR",
            const std::string& wait = "1 HOUR") {
    run_sql(
        fmt::format("INSERT INTO jobs (job_id, state, submit_time, start_time, end_time) SELECT i, "
                    "'COMPLETED', e - INTERVAL "
                    "{3} - INTERVAL {4}, e - INTERVAL {3}, e FROM (SELECT i, TIMESTAMP '{0}' + i * INTERVAL "
                    "1 DAY / {2} AS e "
                    "FROM range({1} * {2}) r(i))",
                    first, days, a_day, run, wait));
  }
  void job(const std::string& submit, const std::string& start, const std::string& end) {
    run_sql(
        fmt::format("INSERT INTO jobs (job_id, submit_time, start_time, end_time) VALUES ('x', {}, {}, {})",
                    submit, start, end));
  }
  void run_sql(const std::string& sql) {
    const Status done = store_.connection().execute(sql);
    ASSERT_TRUE(done) << done.error().line() << done.error().cause;
  }
  std::string text() {
    const auto span = log_span(store_.connection());
    if (!span) return span.error().line();
    if (!span->first) return "none";
    return fmt::format("{} {} {}", format_time(*span->first).substr(0, 13),
                       format_time(*span->last).substr(0, 13), span->strays);
  }
  Store store_ = std::move(*Store::open({}));
};

TEST_F(Span, OfNothingIsNone) { EXPECT_EQ(text(), "none"); }

// Jobs that waited for weeks or ran for days when the log began lengthen nothing.
TEST_F(Span, BeginsWithTheFirstRecordNotTheOldestSubmission) {
  fill("2021-05-01", 92, 100, "6 HOUR", "10 DAY");
  job("'2021-03-16'", "'2021-04-28'", "'2021-05-01 03:00'");
  const auto span = log_span(store_.connection());
  ASSERT_TRUE(span);
  EXPECT_NEAR(std::chrono::duration<double>(*span->last - *span->first).count() / 86400, 92, 0.3) << text();
  EXPECT_EQ(span->strays, 0);
}

// A log that knows its first jobs from their start on begins with it.
TEST_F(Span, OfAFewJobsBeginsWithTheirStarts) {
  job("'2021-05-01 00:00'", "'2021-05-01 01:00'", "'2021-05-03 01:00'");
  EXPECT_EQ(text(), "2021-05-01T01 2021-05-03T01 0");
  job("'2021-05-01 00:00'", "'2021-05-01 02:00'", "'2021-05-04 05:00'");
  EXPECT_EQ(text(), "2021-05-01T01 2021-05-04T05 0");
}

TEST_F(Span, LeavesStraysOut) {
  fill("2021-05-01", 30, 10);
  const std::string sound = text();
  job("'1970-01-01'", "'1970-01-01'", "'1970-01-01 01:00'");
  EXPECT_EQ(text(), sound.substr(0, sound.size() - 1) + "1");
  job("'2021-05-03'", "'2021-05-03'", "'2031-01-01'");
  EXPECT_EQ(text(), sound.substr(0, sound.size() - 1) + "2");
}

// A year without a machine is no reason to leave half of the log out; nor is one job in two a stray.
TEST_F(Span, KeepsWhatIsMany) {
  fill("2018-05-01", 30, 10);
  fill("2021-05-01", 30, 10);
  EXPECT_EQ(text().substr(0, 10), "2018-04-30");
  run_sql("DELETE FROM jobs");
  job("'1970-01-01'", "'1970-01-01'", "'1970-01-01 01:00'");
  job("'2021-05-03'", "'2021-05-03'", "'2021-05-04'");
  EXPECT_EQ(text(), "1970-01-01T00 2021-05-04T00 0");
}

// Jobs that run or wait have no end: the last that is known of them ends the log, not their start begins it.
TEST_F(Span, EndsWithTheLastThatIsKnown) {
  fill("2021-05-01", 10, 10);
  job("'2020-12-01'", "'2020-12-02'", "NULL");
  job("'2021-05-11 08:00'", "NULL", "NULL");
  EXPECT_EQ(text(), "2021-04-30T22 2021-05-11T08 0");
}

}  // namespace
}  // namespace sickbay::workload
