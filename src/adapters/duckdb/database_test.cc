// SPDX-License-Identifier: Apache-2.0
#include "adapters/duckdb/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

namespace sickbay::duck {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("database_test." + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string store() const { return folder_ / "store.duckdb"; }
  static OpenOptions at(const std::string& path, bool read_only = false) {
    OpenOptions o;
    o.path = path;
    o.read_only = read_only;
    return o;
  }

  static Connection in_memory() {
    auto database = Database::open({});
    EXPECT_TRUE(database) << database.error().line();
    return std::move(*database->connect());  // the connection keeps the database
  }
  // The one value that `sql` gives.
  static Value value(Connection& c, const std::string& sql) {
    auto table = c.query(sql);
    EXPECT_TRUE(table) << sql << ": " << table.error().message("test");
    return table && table->rows.size() == 1 && table->rows[0].size() == 1 ? table->rows[0][0]
                                                                          : Value("no one value");
  }
  static Error error(Connection& c, const std::string& sql) {
    auto table = c.query(sql);
    EXPECT_FALSE(table) << sql;
    return table ? Error() : table.error();
  }

  fs::path folder_;
};

TEST_F(DatabaseTest, GivesEachTypeItsValue) {
  Connection c = in_memory();
  struct Case {
    const char* sql;
    Type type;
    Value value;
  };
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const Case cases[] = {
      {"'it''s' || chr(10)", Type::text, "it's\n"},
      {"'longer than twelve bytes'", Type::text, "longer than twelve bytes"},
      {"''", Type::text, ""},
      {"NULL::VARCHAR", Type::text, {}},
      {"true", Type::boolean, true},
      {"-7::TINYINT", Type::integer, std::int64_t{-7}},
      {"-7::SMALLINT", Type::integer, std::int64_t{-7}},
      {"-7::INTEGER", Type::integer, std::int64_t{-7}},
      {"9223372036854775807", Type::integer, largest},
      {"255::UTINYINT", Type::integer, std::int64_t{255}},
      {"65535::USMALLINT", Type::integer, std::int64_t{65535}},
      {"4294967295::UINTEGER", Type::integer, std::int64_t{4294967295}},
      {"9223372036854775807::UBIGINT", Type::integer, largest},
      {"18446744073709551615::UBIGINT", Type::integer, 18446744073709551615.0},
      {"sum(i) FROM (VALUES (40::BIGINT), (2)) t(i)", Type::integer, std::int64_t{42}},  // HUGEINT
      {"-42::HUGEINT", Type::integer, std::int64_t{-42}},
      {"9223372036854775808::HUGEINT", Type::integer, 9223372036854775808.0},
      {"-9223372036854775808::HUGEINT", Type::integer, std::numeric_limits<std::int64_t>::min()},
      {"-9223372036854775809::HUGEINT", Type::integer, -9223372036854775809.0},
      {"7::UHUGEINT", Type::integer, std::int64_t{7}},
      {"0.1::FLOAT", Type::real, 0.1},
      {"0.1::DOUBLE", Type::real, 0.1},
      {"12.50::DECIMAL(6,2)", Type::real, 12.5},
      {"-0.001::DECIMAL(4,3)", Type::real, -0.001},
      {"123456789.25::DECIMAL(18,2)", Type::real, 123456789.25},
      {"1234567890123456789012.5::DECIMAL(38,1)", Type::real, 1234567890123456789012.5},
      {"42::DECIMAL(4,0)", Type::integer, std::int64_t{42}},
      {"42::DECIMAL(38,0)", Type::integer, std::int64_t{42}},
      {"TIMESTAMP '1970-01-01 00:00:01.5'", Type::time, std::int64_t{1500000}},
      {"TIMESTAMP_S '1970-01-01 00:00:02'", Type::time, std::int64_t{2000000}},
      {"TIMESTAMP_MS '1970-01-01 00:00:02.5'", Type::time, std::int64_t{2500000}},
      {"TIMESTAMP_NS '1969-12-31 23:59:59.9999995'", Type::time, std::int64_t{-1}},
      {"TIMESTAMPTZ '1970-01-01 02:00:00+02'", Type::time, std::int64_t{0}},
      {"'infinity'::TIMESTAMP", Type::time, "infinity"},
      {"DATE '2021-05-01'", Type::text, "2021-05-01"},
      {"DATE '0044-03-15'", Type::text, "0044-03-15"},
      {"'-infinity'::DATE", Type::text, "-infinity"},
      {"TIME '04:05:06.25'", Type::text, "04:05:06.25"},
      {"INTERVAL '1 year 2 months 3 days 4 hours'", Type::text, "1 year 2 months 3 days 04:00:00"},
      {"TIMESTAMP '2021-05-02 03:00:00' - TIMESTAMP '2021-05-03 04:30:00'", Type::text, "-1 days -01:30:00"},
      {"INTERVAL 0 SECOND", Type::text, "00:00:00"},
      {"UUID '00112233-4455-6677-8899-aabbccddeeff'", Type::text, "00112233-4455-6677-8899-aabbccddeeff"},
      {"'b'::ENUM ('a', 'b')", Type::text, "b"},
      {"'a\\x00'::BLOB", Type::text, "a\\x00"},
      {"['a', NULL, 'c']", Type::text, "[\"a\",null,\"c\"]"},
      {"[[1, 2], []]", Type::text, "[[1,2],[]]"},
      {"[1.5, 2]::DOUBLE[2]", Type::text, "[1.5,2.0]"},
      {"{'a': 1, 'b': [DATE '2021-05-01']}", Type::text, "{\"a\":1,\"b\":[\"2021-05-01\"]}"},
      {"MAP {'k': TIMESTAMP '2021-05-01 02:03:04'}", Type::text, "{\"k\":\"2021-05-01T02:03:04Z\"}"},
      {"MAP {1: true}", Type::text, "{\"1\":true}"},
      {"NULL::INTEGER[]", Type::text, {}},
      {"NULL", Type::integer, {}},
  };
  for (const Case& each : cases) {
    auto table = c.query(std::string("SELECT ") + each.sql);
    ASSERT_TRUE(table) << each.sql << ": " << table.error().message("test");
    EXPECT_EQ(table->columns.at(0).type, each.type) << each.sql;
    EXPECT_EQ(table->rows.at(0).at(0), each.value)
        << each.sql << " gives " << testing::PrintToString(table->rows.at(0).at(0));
  }
  EXPECT_TRUE(std::isnan(std::get<double>(value(c, "SELECT 'nan'::DOUBLE"))));
  // What has no text here says what to do.
  const Error bit = error(c, "SELECT '101'::BIT AS flags");
  EXPECT_EQ(bit.code, ErrorCode::bad_input);
  EXPECT_THAT(bit.line(), HasSubstr("flags"));
  EXPECT_THAT(bit.remedy_text, HasSubstr("CAST"));
}

TEST_F(DatabaseTest, ReadsManyChunksWithNulls) {
  Connection c = in_memory();
  auto table = c.query(
      "SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE 'row number ' || i END FROM range(10000) t(i) ORDER BY "
      "i");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 10000u);
  EXPECT_EQ(table->rows[9999][1], Value());
  EXPECT_EQ(table->rows[9998][1], Value("row number 9998"));
}

TEST_F(DatabaseTest, TakesParameters) {
  Connection c = in_memory();
  auto row = c.query("SELECT ?, ?, ?, ?, ?", {"it's; DROP", std::int64_t{7}, 1.5, true, std::monostate()});
  ASSERT_TRUE(row) << row.error().line();
  EXPECT_THAT(row->rows.at(0), testing::ElementsAre(Value("it's; DROP"), Value(std::int64_t{7}), Value(1.5),
                                                    Value(true), Value()));
  auto few = c.query("SELECT $1, $2", {std::int64_t{1}});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().what, "the SQL has 2 parameters, and 1 are given");
  // Bytes that are no UTF-8 are an error, no exception.
  EXPECT_FALSE(c.query("SELECT ?", {"\xff\xfe"}));
  EXPECT_FALSE(c.query("SELECT '\xff'"));
  EXPECT_FALSE(c.query(std::string_view("SELECT 1\0; x", 12)));
  EXPECT_EQ(value(c, "SELECT 1"), Value(std::int64_t{1})) << "and it goes on";
}

TEST_F(DatabaseTest, RunsAllStatementsAndGivesTheLast) {
  Connection c = in_memory();
  EXPECT_EQ(value(c, "CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2); SELECT sum(a) FROM t"),
            Value(std::int64_t{3}));
  EXPECT_EQ(value(c, "INSERT INTO t VALUES (4)"), Value(std::int64_t{1})) << "rows inserted";
  auto nothing = c.query("");
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->columns.empty());
  EXPECT_TRUE(c.execute("SET VARIABLE x = 3"));
  EXPECT_EQ(value(c, "SELECT getvariable('x')"), Value(std::int64_t{3}));
}

TEST_F(DatabaseTest, TellsWhatIsWrong) {
  Connection c = in_memory();
  const Error syntax = error(c, "SELECT a\nFROM (SELEC 1)");
  EXPECT_EQ(syntax.code, ErrorCode::bad_input);
  EXPECT_THAT(syntax.cause, HasSubstr("LINE 2"));
  EXPECT_EQ(error(c, "SELECT no_such").code, ErrorCode::bad_input);
  EXPECT_EQ(error(c, "SELECT 'x'::INT").code, ErrorCode::bad_input);
  EXPECT_EQ(error(c, "SELECT error('while rows are made') FROM range(5000)").code, ErrorCode::bad_input);
  EXPECT_EQ(error(c, "COPY (SELECT 1) TO '" + (folder_ / "no" / "such").string() + "'").code,
            ErrorCode::storage_broken);
  EXPECT_EQ(error(c, "LOAD httpfs").code, ErrorCode::storage_broken) << "extensions are not fetched";
  ASSERT_TRUE(c.execute("CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1)"));
  EXPECT_EQ(error(c, "INSERT INTO t VALUES (1)").code, ErrorCode::bad_input);
  EXPECT_EQ(error(c, "COMMIT").code, ErrorCode::conflict);
}

TEST_F(DatabaseTest, ErrorOfMemoryIsOneOfItsOwn) {
  OpenOptions o;
  o.memory_limit = mib(20);
  o.threads = 1;
  o.temp_folder = folder_ / "spill";
  auto database = Database::open(o);
  ASSERT_TRUE(database) << database.error().line();
  Connection c = std::move(*database->connect());
  // A sort spills, also where SQL may reach no file ...
  EXPECT_EQ(
      value(c, "SELECT count(*) FROM (SELECT hash(i) AS h, i FROM range(2000000) t(i) ORDER BY h OFFSET 1)"),
      Value(std::int64_t{1999999}));
  // ... one list of all cannot.
  EXPECT_EQ(error(c, "SELECT len(list(i || ' is a row')) FROM range(2000000) t(i)").code, ErrorCode::os);
}

// Its own files are DuckDB's alone: SQL reaches nothing, and yet a sort may spill.
TEST_F(DatabaseTest, SpillsInTheSandboxToo) {
  ASSERT_TRUE(Database::open(at(store())));
  for (const bool in_memory : {true, false}) {
    OpenOptions o = in_memory ? OpenOptions() : at(store(), true);
    o.memory_limit = mib(20);
    o.threads = 1;
    o.sandboxed = true;
    auto database = Database::open(o);
    ASSERT_TRUE(database) << database.error().line();
    auto table = database->connect()->select(
        "SELECT count(*) FROM (SELECT hash(i) AS h, i FROM range(2000000) t(i) ORDER BY h OFFSET 1)", 1);
    ASSERT_TRUE(table) << table.error().message("test");
    EXPECT_EQ(table->rows[0][0], Value(std::int64_t{1999999}));
  }
}

TEST_F(DatabaseTest, SelectBoundsItsRows) {
  Connection c = in_memory();
  EXPECT_EQ(c.select("FROM range(10)", 10)->rows.size(), 10u);
  auto many = c.select("FROM range(1000000000000)", 10);  // stops at once
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().what, "the SELECT gives more than 10 rows");
  EXPECT_EQ(c.select("SELECT 1; SELECT 2", 10).error().cause, "there are 2 statements");
  EXPECT_EQ(c.select("CREATE TABLE t (a INT)", 10).error().cause, "this is CREATE");
}

TEST_F(DatabaseTest, StreamsUntilToldToStop) {
  Connection c = in_memory();
  std::string head;
  std::int64_t rows = 0;
  const auto names = [&](const std::vector<ResultColumn>& columns) { head = columns.at(0).name; };
  ASSERT_TRUE(c.stream("CREATE TABLE t AS SELECT 1; SELECT range AS n FROM range(1000000000000)", names,
                       [&](const std::vector<Value>& row) {
                         EXPECT_EQ(row.at(0), Value(rows));
                         return ++rows < 5000;
                       }));
  EXPECT_EQ(head, "n");
  EXPECT_EQ(rows, 5000);
  EXPECT_FALSE(c.stream_select("DROP TABLE t", {}, {}));
  EXPECT_TRUE(c.stream("DROP TABLE t", {}, {})) << "the connection is free again";
  auto broken = c.stream("SELECT CASE WHEN i = 9000 THEN error('late') ELSE i END FROM range(10000) t(i)", {},
                         [](const std::vector<Value>&) { return true; });
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().cause, HasSubstr("late"));
}

TEST_F(DatabaseTest, AnotherThreadInterrupts) {
  Connection c = in_memory();
  std::jthread other([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) c.interrupt();  // whenever the query begins
  });
  EXPECT_EQ(
      error(c, "SELECT count(*) FROM range(100000) a, range(1000000000) b WHERE a.range + b.range < 0").code,
      ErrorCode::timed_out);
}

TEST_F(DatabaseTest, OpensAStoreAgain) {
  {
    auto made = Database::open(at(store()));
    ASSERT_TRUE(made) << made.error().line();
    ASSERT_TRUE(made->connect()->execute("CREATE TABLE t AS SELECT 42 AS a"));
  }
  auto again = Database::open(at(store(), true));
  ASSERT_TRUE(again) << again.error().line();
  Connection c = std::move(*again->connect());
  EXPECT_EQ(value(c, "SELECT a FROM t"), Value(std::int64_t{42}));
  EXPECT_EQ(error(c, "DELETE FROM t").code, ErrorCode::denied);
}

TEST_F(DatabaseTest, AnswersInUtcWhereverItIsAsked) {
  ::setenv("TZ", "Europe/Berlin", 1);
  for (const bool sandboxed : {false, true}) {
    auto database = Database::open({.sandboxed = sandboxed});
    Connection c = std::move(*database->connect());
    EXPECT_EQ(value(c, "SELECT strftime(TIMESTAMPTZ '2021-07-01 12:00:00Z', '%H:%M')"), Value("12:00"));
    EXPECT_EQ(value(c, "SELECT TIMESTAMP '2021-07-01 12:00:00' AT TIME ZONE 'Europe/Berlin'"),
              Value(std::int64_t{1625133600000000}));
  }
  ::unsetenv("TZ");
}

TEST_F(DatabaseTest, SaysWhyItCannotBeOpened) {
  const auto code = [](const OpenOptions& o) {
    auto opened = Database::open(o);
    EXPECT_FALSE(opened);
    return opened ? ErrorCode::internal : opened.error().code;
  };
  EXPECT_EQ(code(at(store(), true)), ErrorCode::not_found);
  EXPECT_EQ(code(at(folder_ / "no" / "folder.duckdb")), ErrorCode::not_found);
  std::ofstream(store()) << std::string(20000, 'x');
  EXPECT_EQ(code(at(store())), ErrorCode::storage_broken);
  EXPECT_EQ(code(at(store(), true)), ErrorCode::storage_broken);
  // DuckDB itself would open these, as something else.
  std::ofstream(folder_ / "log.csv") << "a,b\n1,2\n";
  EXPECT_EQ(code(at(folder_ / "log.csv")), ErrorCode::storage_broken);
  EXPECT_EQ(code(at(folder_ / "log.csv", true)), ErrorCode::storage_broken);
  EXPECT_EQ(code(at("https://example.org/x.duckdb", true)), ErrorCode::not_found);
  EXPECT_EQ(code(at(folder_)), ErrorCode::storage_broken) << "a folder";
}

TEST_F(DatabaseTest, IsBusyWhileAnotherProcessWrites) {
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(done[1]);
    auto held = Database::open(at(store()));
    const char good = held ? 'y' : 'n';
    char end = 0;
    if (::write(ready[1], &good, 1) == 1) (void)!::read(done[0], &end, 1);  // until the test closes its end
    ::_exit(0);
  }
  char good = 0;
  ASSERT_EQ(::read(ready[0], &good, 1), 1);
  EXPECT_EQ(good, 'y');
  auto second = Database::open(at(store()));
  EXPECT_FALSE(second);
  if (!second) {
    EXPECT_EQ(second.error().code, ErrorCode::busy) << second.error().cause;
  }
  ::close(done[1]);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(Database::open(at(store())));
}

TEST(Quote, MakesALiteralOfAnyBytes) {
  EXPECT_EQ(quote("it's"), "'it''s'");
  EXPECT_EQ(quote(""), "''");
  EXPECT_EQ(version(), "v1.4.4");
}

}  // namespace
}  // namespace sickbay::duck
