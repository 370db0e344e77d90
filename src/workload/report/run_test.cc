// SPDX-License-Identifier: Apache-2.0
// The run of reports: each fault of a plug-in is named, and the rest is made.
#include "workload/report/run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/report/catalog.h"
#include "workload/report/report_test_parts.h"
#include "workload/report/ten_jobs.h"

namespace sickbay::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kManifest =
    R"({"name": "own", "title": "Own", "help": "What we need.", "chapter": "use"})";
constexpr const char* kGood =
    "-- title: Jobs of users\n-- note: n\n-- units: jobs=jobs\n-- chart: bar x=user_name y=jobs\n"
    "SELECT user_name, count(*) AS jobs FROM j GROUP BY ALL ORDER BY 1;\n";

std::string report(const std::string& sql, const std::string& more = "") {
  return "-- title: T\n-- note: n\n-- units: n=count\n" + more + sql;
}

// A folder with a plug-in, and a store on disk opened as `sickbay report` does.
class Run : public testing::Test {
 protected:
  Run() {
    store_with_jobs(folder_.path("s.duckdb"));
    folder_.write("own/plugin.json", kManifest);
    order_.views.site = default_site();
    order_.store_path = folder_.path("s.duckdb");
  }
  Document make() {
    auto catalog = load_catalog({folder_.path()});
    EXPECT_TRUE(catalog) << catalog.error().line();
    for (const Error& problem : catalog->problems) ADD_FAILURE() << problem.line();
    order_.plugins = catalog->plugins;
    auto store = Store::open({.path = order_.store_path, .mode = StoreMode::read, .sandboxed = true});
    EXPECT_TRUE(store) << store.error().line();
    auto document = make_document(store->connection(), order_);
    EXPECT_TRUE(document) << document.error().line() << document.error().cause;
    return document ? *document : Document();
  }
  // The outcome of the report with this SQL, with a good one after it that must be made.
  ReportResult outcome_of(const std::string& text) {
    folder_.write("own/01_first.sql", text);
    folder_.write("own/02_good.sql", kGood);
    const Document document = make();
    EXPECT_EQ(document.results.size(), 2u);
    EXPECT_EQ(document.results.back().outcome, Outcome::made) << document.results.back().why;
    return document.results.front();
  }

  Folder folder_;
  RunOrder order_;
};

TEST_F(Run, MakesADocument) {
  folder_.write("own/02_good.sql", kGood);
  const Document document = make();
  ASSERT_EQ(document.results.size(), 1u);
  const ReportResult& result = document.results.at(0);
  EXPECT_EQ(result.outcome, Outcome::made) << result.why;
  EXPECT_EQ(result.table.rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(result.table.rows.at(1)[0]), "bob");
  EXPECT_EQ(std::get<std::int64_t>(result.table.rows.at(1)[1]), 3);
  EXPECT_EQ(document.facts[0],
            (std::pair<std::string, std::string>(
                "Period", "2021-05-01 23:30 to 2021-05-21 00:00:02 (19 days), the span of the log")));
  EXPECT_EQ(document.facts[1], (std::pair<std::string, std::string>("Jobs", "5")));
}

TEST_F(Run, GivesParametersTheirTypeAndForgetsThem) {
  folder_.write("own/01_a.sql", report("SELECT getvariable('top') + 1 AS n, getvariable('name') AS t",
                                       "-- param: top integer 20 how many\n-- param: name text o'b what\n"));
  folder_.write("own/02_b.sql", report("SELECT 1 AS n, getvariable('top')::VARCHAR AS t"));
  const Document document = make();
  ASSERT_EQ(document.results.at(0).outcome, Outcome::made) << document.results.at(0).why;
  EXPECT_EQ(std::get<std::int64_t>(document.results.at(0).table.rows.at(0)[0]), 21);
  EXPECT_EQ(std::get<std::string>(document.results.at(0).table.rows.at(0)[1]), "o'b");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(document.results.at(1).table.rows.at(0)[1]));
}

TEST_F(Run, LeavesOutWhatTheLogCannotSay) {
  EXPECT_EQ(outcome_of(report("SELECT 1 AS n", "-- needs: max_rss core_h energy\n")).why,
            "no job here has max_rss, energy");
  const ReportResult zero =
      outcome_of(report("SELECT 1 AS n", "-- needs: restarts users.team node_events.node\n"));
  EXPECT_EQ(zero.outcome, Outcome::left_out);
  EXPECT_EQ(zero.why,
            "no job here has restarts; no users.json names the users; "
            "the store has no node events (sickbay import --events)");
  EXPECT_EQ(outcome_of(report("SELECT 1 AS n", "-- needs: energy|nodes.cpus|gpus\n")).outcome, Outcome::made)
      << "one of them will do";
  EXPECT_EQ(outcome_of(report("SELECT 1 AS n", "-- needs: energy|max_rss\n")).why,
            "no job here has energy / max_rss");
  EXPECT_EQ(outcome_of(report("SELECT 1 AS n", "-- needs: period2.begins\n")).why,
            "no second period was asked for (--compare)");
  EXPECT_EQ(outcome_of(report("SELECT 1 AS n", "-- needs: gpus\n")).outcome, Outcome::made);
}

TEST_F(Run, ANumberThatIsZeroEverywhereSaysNothing) {
  order_.views.filter.max_cpus = 4;  // leaves jobs whose gpus are 0
  EXPECT_EQ(outcome_of(report("SELECT 1 AS n", "-- needs: gpus\n")).outcome, Outcome::left_out);
}

TEST_F(Run, KnowsAReportWithoutRows) {
  EXPECT_EQ(outcome_of(report("SELECT 1 AS n WHERE false")).outcome, Outcome::empty);
  EXPECT_EQ(outcome_of(report("SELECT NULL::BIGINT AS n")).outcome, Outcome::empty);
}

// Each row: an SQL that must fail, and what must be said.
TEST_F(Run, NamesEachFaultAndMakesTheRest) {
  const std::pair<std::string, const char*> wrong[] = {
      {"SELECT 1 AS n FROM jbs", "01_first.sql:4: "},
      {"SELEC 1 AS n", "syntax error"},
      {"SELECT 1 AS m", "01_first.sql:3: the result has no column 'n'"},
      {"SELECT 1 AS n, 2 AS extra", "the column 'extra' holds numbers and has no unit"},
      {"DELETE FROM jobs", "SELECT"},
      {"SELECT 1 AS n; DROP TABLE jobs", "one"},
      {"CREATE TABLE mine AS SELECT 1 AS n", "SELECT"},
      {"COPY jobs TO '/tmp/sickbay-report-test.csv'", "disabled"},
      {"SELECT 1 AS n FROM read_text('/etc/passwd')", "read_text"},
      {"SELECT 1 AS n FROM '/etc/passwd'", "/etc/passwd"},
      {"SELECT 1 AS n FROM glob('/*')", "glob"},
      {"SET threads = 1", "SELECT"},
      {"INSTALL httpfs", "SELECT"},
      {"ATTACH '/tmp/other.duckdb'", "SELECT"},
      {"SELECT range AS n FROM range(200000)", "more than 100000 rows"},
      {"SELECT error('own words') AS n", "own words"},
  };
  for (const auto& [sql, said] : wrong) {
    const ReportResult result = outcome_of(report(sql));
    EXPECT_EQ(result.outcome, Outcome::failed) << sql;
    EXPECT_THAT(result.why, HasSubstr(said)) << sql;
    EXPECT_THAT(result.why, Not(HasSubstr("\n"))) << sql;
    EXPECT_TRUE(result.table.rows.empty()) << sql;
  }
  EXPECT_FALSE(std::filesystem::exists("/tmp/sickbay-report-test.csv"));
}

TEST_F(Run, StopsWhatRunsForever) {
  // (The limit is the good one's, too, and that must be made on a busy machine.)
  order_.time_limit = std::chrono::seconds(3);
  const ReportResult result = outcome_of(report(
      "SELECT count(*) AS n FROM range(1000000000) a, range(1000000000) b WHERE hash(a.range, b.range) = 1"));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.why, "it ran longer than 3 s");
}

TEST_F(Run, NamesABrokenHeadInItsPlace) {
  const ReportResult result = outcome_of("-- titel: T\nSELECT 1");
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_THAT(result.why, HasSubstr("01_first.sql:1: unknown word 'titel'"));
}

TEST_F(Run, SaysWhyNoJobFits) {
  folder_.write("own/02_good.sql", kGood);
  order_.views.filter.users = {"anna"};
  auto store = Store::open({.path = order_.store_path, .mode = StoreMode::read, .sandboxed = true});
  ASSERT_TRUE(store);
  auto document = make_document(store->connection(), order_);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, ErrorCode::not_found);
  EXPECT_EQ(document.error().cause, "no job is of the user 'anna'; did you mean 'ann'?");
  EXPECT_THAT(document.error().remedy_text, HasSubstr("from 2021-05-01 22:30:00 to 2021-05-21 00:00:00"));
}

TEST_F(Run, GivesExecutablesWhatTheyNeed) {
  folder_.write("own/plugin.json",
                R"({"name": "own", "title": "Own", "help": "h", "chapter": "use", "reports": [
      {"name": "prog", "command": ["./prog", "-x"], "title": "T", "note": "n", "units": "n=count", "param": "top integer 5 how many"}]})");
  ProgramOrder seen;
  order_.run_program = [&](const ProgramOrder& program) -> Result<std::string> {
    seen = program;
    return std::string("name,n\nann,1\n\"b,ob\",2\n");
  };
  const Document document = make();
  ASSERT_EQ(document.results.at(0).outcome, Outcome::made) << document.results.at(0).why;
  EXPECT_EQ(std::get<std::string>(document.results.at(0).table.rows.at(1)[0]), "b,ob");
  EXPECT_THAT(seen.argv, ElementsAre("./prog", "-x", order_.store_path));
  EXPECT_EQ(seen.folder, folder_.path() + "own");
  std::map<std::string, std::string> env(seen.environment.begin(), seen.environment.end());
  EXPECT_EQ(env["SICKBAY_STORE"], order_.store_path);
  EXPECT_EQ(env["SICKBAY_PARAM_TOP"], "5");
  EXPECT_THAT(env["SICKBAY_VIEWS"], HasSubstr("TEMP VIEW j AS"));

  order_.run_program = [](const ProgramOrder&) -> Result<std::string> {
    return fail(Error(ErrorCode::bad_input, "'./prog' ended with exit code 3").because("no such town"));
  };
  EXPECT_EQ(make().results.at(0).why, "'./prog' ended with exit code 3: no such town");
  order_.run_program = [](const ProgramOrder&) -> Result<std::string> { return std::string("name\nann\n"); };
  EXPECT_THAT(make().results.at(0).why, HasSubstr("the result has no column 'n'"));
}

// Names of columns that the SQL does not have are told from all of them, whatever the SQL names.
TEST_F(Run, RunsSideBySideInTheOrderOfThePlugin) {
  order_.connections = 4;
  for (int i = 10; i < 30; ++i)
    folder_.write(fmt::format("own/{}_r{}.sql", i, i),
                  i == 20   ? report("SELECT elapsd AS n FROM j")
                  : i == 21 ? report("SELECT count(*) AS n FROM j WHERE j.state IS NULL OR elapsed IS NULL")
                            : report(fmt::format("SELECT {} AS n, count(cores) > 0 AS t FROM j", i),
                                     "-- param: p integer 1 what\n"));
  const Document document = make();
  ASSERT_EQ(document.results.size(), 20u);
  for (int i = 10; i < 30; ++i) {
    const ReportResult& result = document.results.at(static_cast<std::size_t>(i - 10));
    EXPECT_THAT(result.spec.path, HasSubstr(fmt::format("{}_r{}.sql", i, i)));
    if (i == 20) {
      EXPECT_EQ(result.outcome, Outcome::failed);
      EXPECT_THAT(result.why, HasSubstr("\"elapsed\""));
    } else {
      EXPECT_EQ(result.outcome, Outcome::made) << result.why;
      EXPECT_EQ(std::get<std::int64_t>(result.table.rows.at(0)[0]), i == 21 ? 0 : i);
    }
  }
}

TEST_F(Run, ChecksWithoutJobs) {
  folder_.write("own/01_a.sql", report("SELECT 1 AS n FROM jbs"));
  folder_.write("own/02_good.sql", kGood);
  folder_.write("own/03_b.sql", "-- title: T\n");
  auto catalog = load_catalog({folder_.path()});
  ASSERT_TRUE(catalog);
  auto empty = Store::open({});
  ASSERT_TRUE(empty);
  std::vector<std::string> columns;
  auto errors = check_reports(empty->connection(), catalog->plugins, columns);
  ASSERT_TRUE(errors);
  ASSERT_EQ(errors->size(), 2u);
  EXPECT_THAT(
      (*errors)[0].what,
      HasSubstr("own/01_a.sql:4: the SQL is wrong: Catalog Error: Table with name jbs does not exist! "
                "Did you mean \"jobs\"?"));
  EXPECT_THAT((*errors)[1].what, HasSubstr("03_b.sql:1: the head has no note"));
  EXPECT_THAT(columns, ElementsAre("jobs", "n", "user_name"));
}

// What a program prints is looked at on ten jobs; one that cannot be started, or prints another column, is
// wrong.
TEST_F(Run, ChecksExecutablesOnTenJobs) {
  const std::string head = R"(, "title": "T", "note": "n", "units": "n=count"}])";
  folder_.write("own/plugin.json",
                R"({"name": "own", "title": "Own", "help": "h", "chapter": "use", "reports": [
      {"name": "good", "command": ["./good"])" +
                    head.substr(0, head.size() - 1) + R"(,
      {"name": "wrong", "command": ["./wrong"])" +
                    head + "}");
  auto catalog = load_catalog({folder_.path()});
  ASSERT_TRUE(catalog);
  auto empty = Store::open({});
  ASSERT_TRUE(empty);
  const Folder elsewhere;
  const std::string path = elsewhere.path("ten.duckdb");
  const auto made = make_store_of_ten_jobs(path);
  ASSERT_TRUE(made) << made.error().line();
  ExecutableCheck check;
  check.store_path = path;
  check.run_program = [&](const ProgramOrder& program) -> Result<std::string> {
    auto store = Store::open({.path = program.argv.back(), .mode = StoreMode::read, .sandboxed = true});
    if (!store) return fail(store.error());
    for (const auto& [name, value] : program.environment)
      if (name == "SICKBAY_VIEWS")
        if (auto views = store->connection().execute(value); !views) return fail(views.error());
    auto jobs = store->connection().query("SELECT count(*) FROM j WHERE core_h > 0");
    if (!jobs) return fail(jobs.error());
    return std::string(program.argv.front() == "./good" ? "n\n" : "m\n") +
           std::to_string(std::get<std::int64_t>(jobs->rows[0][0])) + "\n";
  };
  std::vector<std::string> columns;
  auto errors = check_reports(empty->connection(), catalog->plugins, columns, &check);
  ASSERT_TRUE(errors) << errors.error().line();
  ASSERT_EQ(errors->size(), 1u);
  EXPECT_THAT((*errors)[0].what, HasSubstr("the result has no column 'n'"));
  EXPECT_THAT(columns, testing::Contains("n"));
  errors = check_reports(empty->connection(), catalog->plugins, columns);
  ASSERT_TRUE(errors);
  EXPECT_TRUE(errors->empty()) << "without leave nothing is started";
}

TEST(Table, OfCsv) {
  auto table = parse_table(
      "name,n,share,ok,at,none\r\n\"a "
      "\"\"b\"\"\nc\",1,1.5,true,2021-05-01T10:00:00Z,\r\n\"\",,2,false,,\r\n\r\n");
  ASSERT_TRUE(table) << table.error().line();
  using duck::Type;
  std::vector<Type> types;
  for (const auto& column : table->columns) types.push_back(column.type);
  EXPECT_THAT(types,
              ElementsAre(Type::text, Type::integer, Type::real, Type::boolean, Type::time, Type::text));
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(table->rows[0][0]), "a \"b\"\nc");
  EXPECT_EQ(std::get<std::string>(table->rows[1][0]), "");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table->rows[1][1]));
  EXPECT_EQ(std::get<double>(table->rows[1][2]), 2.0);
}

TEST(Table, OfJson) {
  for (const char* text : {R"([{"name": "a", "n": 1, "x": 1}, {"name": null, "n": 2.5}])",
                           R"({"columns": ["name", "n", "x"], "rows": [["a", 1, 1], [null, 2.5, null]]})"}) {
    auto table = parse_table(text);
    ASSERT_TRUE(table) << table.error().line();
    ASSERT_EQ(table->columns.size(), 3u);
    EXPECT_EQ(table->columns[1].type, duck::Type::real);
    EXPECT_EQ(table->columns[2].type, duck::Type::integer);
    EXPECT_EQ(std::get<double>(table->rows[0][1]), 1.0);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(table->rows[1][0]));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(table->rows[1][2]));
  }
}

TEST(Table, NamesTheLineAtFault) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "no table"},
      {"a,b\n1\n", "line 2: 1 cells, and the header has 2"},
      {"a,b\n\"x\ny\",1\n1,2,3\n", "line 4: 3 cells"},
      {"a\n\"x", "line 2: a quote is not closed"},
      {"a\n\"x\"y\n", "text behind a closing quote"},
      {"[1]", "no object"},
      {"[]", "no columns"},
      {"{\"columns\": [\"a\"], \"rows\": [[1, 2]]}", "row 1 has 2 values for 1 columns"},
      {"[{", "its output:1:"},
  };
  for (const auto& [text, said] : wrong) {
    auto table = parse_table(text);
    ASSERT_FALSE(table) << text;
    EXPECT_THAT(table.error().what, HasSubstr(said)) << text;
  }
}

}  // namespace
}  // namespace sickbay::workload
