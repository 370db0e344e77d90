// SPDX-License-Identifier: Apache-2.0
// Statements: their periods, the names of their files, and that they add up to the whole whatever the cut.
#include "workload/report/statement.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "workload/report/report_test_parts.h"

namespace sickbay::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TimePoint moment(const std::string& text) { return *parse_time(text + "Z"); }

TimeZone zone_of(const std::string& name) {
  auto zone = TimeZone::make(name);
  EXPECT_TRUE(zone) << name;
  return *zone;
}

// "NAME FROM TO" of each, in UTC.
std::vector<std::string> periods(StatementUnit unit, const std::string& from, const std::string& to,
                                 const std::string& zone = "UTC") {
  const auto found = statement_periods(unit, from.empty() ? std::nullopt : std::optional(moment(from)),
                                       to.empty() ? std::nullopt : std::optional(moment(to)), zone_of(zone),
                                       moment("2021-07-15T12:00:00"));
  if (!found) return {found.error().what};
  std::vector<std::string> texts;
  for (const StatementPeriod& p : *found)
    texts.push_back(fmt::format("{} {} {}", p.name, format_time(p.from), format_time(p.to)));
  return texts;
}

TEST(StatementPeriods, CutATimeAsACalendarDoes) {
  EXPECT_THAT(periods(StatementUnit::month, "2021-05-10T00:00:00", "2021-07-01T00:00:00"),
              ElementsAre("2021-05 2021-05-10T00:00:00Z 2021-06-01T00:00:00Z",
                          "2021-06 2021-06-01T00:00:00Z 2021-07-01T00:00:00Z"));
  EXPECT_THAT(periods(StatementUnit::quarter, "2020-12-31T23:00:00", "2021-04-01T01:00:00"),
              ElementsAre("2020-Q4 2020-12-31T23:00:00Z 2021-01-01T00:00:00Z",
                          "2021-Q1 2021-01-01T00:00:00Z 2021-04-01T00:00:00Z",
                          "2021-Q2 2021-04-01T00:00:00Z 2021-04-01T01:00:00Z"));
  EXPECT_THAT(periods(StatementUnit::week, "2021-01-01T00:00:00", "2021-01-05T00:00:00"),
              ElementsAre("2020-W53 2021-01-01T00:00:00Z 2021-01-04T00:00:00Z",
                          "2021-W01 2021-01-04T00:00:00Z 2021-01-05T00:00:00Z"))
      << "a week is of the year of its Thursday";
  EXPECT_THAT(periods(StatementUnit::year, "2021-01-01T00:00:00", "2021-02-01T00:00:00"),
              ElementsAre("2021 2021-01-01T00:00:00Z 2021-02-01T00:00:00Z"));
}

TEST(StatementPeriods, AreThoseOfTheZone) {
  EXPECT_THAT(periods(StatementUnit::day, "2021-03-27T23:00:00", "2021-03-29T22:00:00", "Europe/Berlin"),
              ElementsAre("2021-03-28 2021-03-27T23:00:00Z 2021-03-28T22:00:00Z",  // of 23 hours
                          "2021-03-29 2021-03-28T22:00:00Z 2021-03-29T22:00:00Z"));
  EXPECT_THAT(periods(StatementUnit::month, "", "", "Europe/Berlin"),
              ElementsAre("2021-06 2021-05-31T22:00:00Z 2021-06-30T22:00:00Z"));
}

TEST(StatementPeriods, WithoutBoundsAreThoseThatAreOver) {
  EXPECT_THAT(periods(StatementUnit::month, "", ""),
              ElementsAre("2021-06 2021-06-01T00:00:00Z 2021-07-01T00:00:00Z"));
  EXPECT_THAT(periods(StatementUnit::year, "", ""),
              ElementsAre("2020 2020-01-01T00:00:00Z 2021-01-01T00:00:00Z"));
  EXPECT_THAT(periods(StatementUnit::week, "2021-07-05T00:00:00", ""),
              ElementsAre("2021-W27 2021-07-05T00:00:00Z 2021-07-12T00:00:00Z"));
  EXPECT_THAT(periods(StatementUnit::month, "2021-07-01T00:00:00", ""),
              ElementsAre("no month from --from on is over"));
  EXPECT_THAT(periods(StatementUnit::month, "", "2021-07-01T00:00:00"),
              ElementsAre(HasSubstr("need --from")));
  EXPECT_THAT(periods(StatementUnit::day, "1970-01-01T00:00:00", ""), ElementsAre(HasSubstr("more than")));
}

TEST(StatementFileName, TwoNamesNeverShareOne) {
  const std::vector<std::optional<std::string>> names = {std::nullopt,
                                                         "phys",
                                                         "Phys",
                                                         "PHYS",
                                                         "phys ",
                                                         "a/b",
                                                         "a.b",
                                                         "a-b",
                                                         "a b",
                                                         "..",
                                                         ".",
                                                         "-x",
                                                         "_none",
                                                         "_index",
                                                         "../x",
                                                         "x\ny",
                                                         "\xc3\xa4",
                                                         "\xc3\xb6",
                                                         "none",
                                                         std::string(300, 'a'),
                                                         std::string(299, 'a') + "b"};
  std::set<std::string> files;
  for (const auto& name : names) {
    std::string file = statement_file_name(name);
    EXPECT_EQ(file.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_."), file.npos) << file;
    EXPECT_LE(file.size(), 80U) << file;
    EXPECT_NE(file.front(), '.') << file;
    EXPECT_NE(file.front(), '-') << file;
    EXPECT_TRUE(files.insert(file).second) << file;
  }
  EXPECT_EQ(statement_file_name("phys-2_a"), "phys-2_a") << "what is plain stays as it is";
  EXPECT_EQ(statement_file_name("A/b").substr(0, 4), "a-b.");
  EXPECT_FALSE(files.contains("_index"));
}

struct Made {
  std::string period, file, title, json;
  duck::ResultTable total, index;
};

class StatementTest : public testing::Test {
 protected:
  StatementTest() { order_.run.views.site = default_site(); }
  // All statements of the store in `folder_`; nothing where an error came.
  std::vector<Made> make(const std::string& from, const std::string& to, int threads = 2) {
    order_.run.views.filter.from = moment(from);
    order_.run.views.filter.to = moment(to);
    std::vector<Made> all;
    const Status done = make_statements(
        folder_.path("s.duckdb"), order_, zone_of("UTC"), moment("2021-07-01T00:00:00"), threads,
        [&](const Statement& s) -> Status {
          const Document& document = s.document;
          Made& made =
              all.emplace_back(Made{s.period, s.file, document.title, render_json(document), {}, {}});
          (s.file == "_index" ? made.index : made.total) = document.results.at(0).table;
          return {};
        });
    EXPECT_TRUE(done) << done.error().line() << done.error().cause;
    return all;
  }
  double ask(const std::string& sql) {
    auto store = Store::open({.path = folder_.path("s.duckdb"), .mode = StoreMode::read});
    EXPECT_TRUE(store);
    auto table = store->connection().query(sql);
    EXPECT_TRUE(table) << table.error().cause;
    const auto* value = table ? std::get_if<double>(&table->rows.at(0).at(0)) : nullptr;
    return value != nullptr ? *value : -1;
  }

  Folder folder_;
  StatementOrder order_;
};

double figure(const duck::ResultTable& table, const std::string& column, std::size_t row = 0) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].name == column) {
      const double value = number_of(table.rows.at(row).at(c));
      return std::isnan(value) ? 0 : value;
    }
  ADD_FAILURE() << "no column " << column;
  return 0;
}

TEST_F(StatementTest, EachAccountHasItsOwnAndWhoUsedNothingHasNone) {
  { const Store made = store_with_jobs(folder_.path("s.duckdb")); }
  const auto all = make("2021-05-01T00:00:00", "2021-06-01T00:00:00");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].file, "chem");
  EXPECT_EQ(all[0].title, "Statement: account chem, 2021-05");
  EXPECT_EQ(all[1].file, "phys");
  EXPECT_NEAR(figure(all[1].total, "core_h"), 4 + 128 / 60.0, 1e-6);
  EXPECT_EQ(figure(all[1].total, "jobs"), 2);
  EXPECT_EQ(all[2].file, "_index");
  EXPECT_EQ(all[2].index.rows.size(), 2U);
  const auto days = make("2021-05-01T00:00:00", "2021-05-03T00:00:00");
  for (const Made& made : days) EXPECT_NE(made.file, "chem") << "its first job ran on the 10th";
  order_.unit = StatementUnit::day;
  const auto each = make("2021-05-01T00:00:00", "2021-05-05T00:00:00");
  ASSERT_EQ(each.size(), 4U) << "a file and a list for each day of use";
  EXPECT_NEAR(figure(each[0].total, "core_h"), 2, 1e-9) << "half an hour before midnight";
  EXPECT_EQ(figure(each[0].total, "jobs"), 0) << "it ended on the next day";
}

TEST_F(StatementTest, NothingAtAllIsAnErrorAsOfAReport) {
  { const Store made = store_with_jobs(folder_.path("s.duckdb")); }
  order_.run.views.filter.from = moment("2019-01-01T00:00:00");
  order_.run.views.filter.to = moment("2019-02-01T00:00:00");
  const Status done =
      make_statements(folder_.path("s.duckdb"), order_, zone_of("UTC"), moment("2021-07-01T00:00:00"), 1,
                      [](const Statement&) -> Status { return {}; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::not_found);
}

// Jobs of the first half of 2021, some without an account, some of names that are hard on files.
void fill(Store& store, unsigned seed, bool backwards) {
  std::mt19937 random(seed);
  const char* accounts[] = {"'phys'", "'Phys'", "'a/b'", "'..'", "NULL", "'x y'"};
  std::vector<std::string> rows;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t start = 1609459200 + static_cast<std::int64_t>(random() % (180 * 86400));
    const std::int64_t elapsed = static_cast<std::int64_t>(random() % (20 * 86400)), cpus = 1 + random() % 64;
    rows.push_back(fmt::format(
        "('{}', 'u{}', {}, 'p{}', {}, 'COMPLETED', make_timestamp({}), make_timestamp({}), "
        "make_timestamp({}), "
        "{}, {}, {}, {}, {})",
        i, random() % 9, accounts[random() % 6], random() % 3, random() % 3 == 0 ? "NULL" : "'vasp'",
        (start - 100) * 1000000, start * 1000000, (start + elapsed) * 1000000, elapsed, cpus,
        1 + random() % 4, random() % 2 == 0 ? "NULL" : std::to_string(elapsed * cpus * 900), random() % 4));
  }
  if (backwards) std::reverse(rows.begin(), rows.end());
  const auto done = store.connection().execute(
      fmt::format("INSERT INTO jobs (job_id, user_name, account, partition, application, state, submit_time, "
                  "start_time, end_time, elapsed, cpus, nodes, total_cpu, gpus) VALUES {}",
                  fmt::join(rows, ", ")));
  ASSERT_TRUE(done) << done.error().cause;
}

// The hours within [from, to), worked out by intervals and not by shares.
std::string hours_sql(const std::string& from, const std::string& to) {
  return fmt::format(
      "SELECT sum(cpus * greatest(0, epoch(least(end_time, TIMESTAMP '{1}')) - epoch(greatest(start_time, "
      "TIMESTAMP '{0}')))) / 3600 FROM jobs",
      from, to);
}

TEST_F(StatementTest, AddUpToTheWholeWhateverTheCut) {
  {
    auto store = Store::open({.path = folder_.path("s.duckdb")});
    ASSERT_TRUE(store);
    fill(*store, 1, false);
  }
  std::mt19937 random(2);
  for (int round = 0; round < 12; ++round) {
    order_.unit = static_cast<StatementUnit>(1 + random() % 4);  // days are many
    order_.of = static_cast<StatementOf>(random() % 5);
    const TimePoint begin = moment("2020-12-20T00:00:00") + std::chrono::seconds(random() % (100 * 86400));
    const TimePoint end = begin + std::chrono::seconds(1 + random() % (90 * 86400));
    std::string from = format_time(begin), to = format_time(end);
    from.pop_back(), to.pop_back();
    SCOPED_TRACE(from + " " + to);
    double core_h = 0, listed = 0, jobs = 0;
    std::map<std::string, int> files;
    for (const Made& made : make(from, to)) {
      EXPECT_EQ(files[made.period + "/" + made.file]++, 0);
      if (made.file == "_index") {
        for (std::size_t i = 0; i < made.index.rows.size(); ++i) listed += figure(made.index, "core_h", i);
      } else {
        core_h += figure(made.total, "core_h");
        jobs += figure(made.total, "jobs");
      }
    }
    const double whole = ask(hours_sql(from, to));
    EXPECT_NEAR(core_h, whole, 1e-6 * whole + 1e-6);
    EXPECT_NEAR(listed, core_h, 1e-9 * whole + 1e-9);
    EXPECT_EQ(jobs,
              ask(fmt::format("SELECT count(*)::DOUBLE FROM jobs WHERE end_time >= '{}' AND end_time < '{}'",
                              from, to)));
  }
}

TEST_F(StatementTest, EqualJobsGiveEqualDocuments) {
  const auto documents = [&](bool backwards, int threads) {
    std::filesystem::remove(folder_.path("s.duckdb"));
    {
      auto store = Store::open({.path = folder_.path("s.duckdb")});
      EXPECT_TRUE(store);
      fill(*store, 3, backwards);
    }
    std::string text;
    for (const Made& made : make("2021-01-01T00:00:00", "2021-05-01T00:00:00", threads))
      text += made.period + made.file + made.json;
    return text;
  };
  const std::string first = documents(false, 1);
  EXPECT_GT(first.size(), 10000U);
  EXPECT_EQ(documents(true, 2), first) << "neither the order of rows nor threads show";
}

TEST(StatementOf, IsToldByItsWord) {
  EXPECT_EQ(*parse_statement_of("team"), StatementOf::team);
  EXPECT_THAT(parse_statement_of("acount").error().remedy(), HasSubstr("did you mean 'account'?"));
  EXPECT_EQ(*parse_statement_unit("quarter"), StatementUnit::quarter);
  EXPECT_THAT(parse_statement_unit("moon").error().what, HasSubstr("no statement of a 'moon'"));
}

}  // namespace
}  // namespace sickbay::workload
