// SPDX-License-Identifier: Apache-2.0
// Rows of ours into DuckDB: values, threads, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <thread>

#include "adapters/duckdb/database.h"

namespace sickbay::duck {
namespace {

namespace fs = std::filesystem;

// Numbers 0 to count, taken in pieces by the producers of all threads.
struct Counter {
  std::atomic<std::int64_t> next{0};
  std::int64_t count = 0;
  std::int64_t fail_at = -1, throw_at = -1;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> producers{0};
};

class Numbers final : public RowProducer {
 public:
  explicit Numbers(Counter& counter) : counter_(counter) { ++counter.producers; }
  Status fill(ChunkWriter& chunk) override {
    {
      const std::lock_guard lock(counter_.mutex);
      counter_.threads.insert(std::this_thread::get_id());
    }
    while (!chunk.full()) {
      const std::int64_t i = counter_.next++;
      if (i >= counter_.count) return {};
      if (i == counter_.fail_at) return fail(ErrorCode::storage_full, "no room for row 12345");
      if (i == counter_.throw_at) throw std::runtime_error("thrown");
      chunk.set(0, i);
      chunk.set(1, static_cast<double>(i) / 2);
      if (i % 2 == 0)
        chunk.set(2, "row " + std::to_string(i));
      else
        chunk.set_null(2);
      chunk.set(3, "a text of more than twelve bytes, number " + std::to_string(i));
      chunk.set_bool(4, i % 3 == 0);
      chunk.set(5, i * 1'000'000);
      chunk.end_row();
    }
    return {};
  }

 private:
  Counter& counter_;
};

RowSource numbers(Counter& counter, int threads) {
  return {.name = "numbers",
          .columns = {{"i", Type::integer},
                      {"half", Type::real},
                      {"short", Type::text},
                      {"long", Type::text},
                      {"third", Type::boolean},
                      {"instant", Type::time}},
          .max_threads = threads,
          .producer = [&counter] { return std::make_unique<Numbers>(counter); }};
}

class SourceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("source_test." + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Connection connect(const OpenOptions& options) {
    auto database = Database::open(options);
    EXPECT_TRUE(database) << database.error().line();
    return std::move(*database->connect());
  }
  static std::int64_t integer(Connection& c, const char* sql) {
    auto table = c.query(sql);
    EXPECT_TRUE(table) << sql << ": " << table.error().message("test");
    const auto* i = table ? std::get_if<std::int64_t>(&table->rows.at(0).at(0)) : nullptr;
    EXPECT_NE(i, nullptr) << sql;
    return i ? *i : -1;
  }
  fs::path folder_;
};

TEST_F(SourceTest, GivesEachValue) {
  Counter counter;
  counter.count = 5000;  // more than two chunks
  Connection c = connect({});
  ASSERT_TRUE(c.add_source(numbers(counter, 1)));
  auto table = c.query("SELECT * FROM numbers()");
  ASSERT_TRUE(table) << table.error().line();
  ASSERT_EQ(table->rows.size(), 5000u);
  for (std::int64_t i = 0; i < 5000; ++i) {
    const auto& row = table->rows[static_cast<std::size_t>(i)];
    const std::string n = std::to_string(i);
    ASSERT_THAT(row, testing::ElementsAre(Value(i), Value(static_cast<double>(i) / 2),
                                          i % 2 ? Value() : Value("row " + n),
                                          Value("a text of more than twelve bytes, number " + n),
                                          Value(i % 3 == 0), Value(i * 1'000'000)));
  }
  EXPECT_EQ(table->columns[5].type, Type::time);
  auto twice = c.add_source(numbers(counter, 1));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::already_exists);
}

// Texts of 12 and 13 bytes lie in two forms; equal ones must be equal in both.
TEST_F(SourceTest, TextsCompareAndGroup) {
  struct Texts final : RowProducer {
    Status fill(ChunkWriter& chunk) override {
      for (; next < 60; ++next) {
        chunk.set(0, std::string("abcdefghijklmno").substr(0, static_cast<std::size_t>(next % 15)));
        chunk.end_row();
      }
      return {};
    }
    int next = 0;
  };
  Connection c = connect({});
  ASSERT_TRUE(
      c.add_source({.name = "texts", .columns = {{"t", Type::text}}, .max_threads = 1, .producer = [] {
                      return std::make_unique<Texts>();
                    }}));
  EXPECT_EQ(integer(c, "SELECT count(*) FROM (SELECT t, count(*) AS n FROM texts() GROUP BY t HAVING n = 4)"),
            15);
  EXPECT_EQ(integer(c, "SELECT count(*) FROM texts() WHERE t = 'abcdefghijkl'"), 4);
  EXPECT_EQ(integer(c, "SELECT count(*) FROM texts() WHERE t = 'abcdefghijklm'"), 4);
  EXPECT_EQ(integer(c, "SELECT count(*) FROM texts() WHERE t = ''"), 4);
}

TEST_F(SourceTest, AnAbandonedRowLeavesNoTrace) {
  struct Once final : RowProducer {
    Status fill(ChunkWriter& chunk) override {
      if (std::exchange(done, true)) return {};
      chunk.set_null(0);  // this row is given up
      chunk.set(0, std::int64_t{7});
      chunk.end_row();
      chunk.set(0, std::int64_t{8});  // and this one never ended
      return {};
    }
    bool done = false;
  };
  Connection c = connect({});
  ASSERT_TRUE(
      c.add_source({.name = "once", .columns = {{"i", Type::integer}}, .max_threads = 1, .producer = [] {
                      return std::make_unique<Once>();
                    }}));
  EXPECT_EQ(integer(c, "SELECT sum(i) FROM once()"), 7);
}

TEST_F(SourceTest, TwoThreadsFillAFileInOneTransaction) {
  const std::string path = folder_ / "store.duckdb";
  constexpr std::int64_t kRows = 1'000'000;
  Counter counter;
  counter.count = kRows;
  {
    Connection c = connect({.path = path, .keep_order = false, .threads = 2});
    ASSERT_TRUE(c.add_source(numbers(counter, 2)));
    ASSERT_TRUE(c.execute("BEGIN; CREATE TABLE t AS FROM numbers() WITH NO DATA"));
    EXPECT_EQ(counter.next, 0);
    EXPECT_EQ(integer(c, "INSERT INTO t FROM numbers()"), kRows);
    ASSERT_TRUE(c.execute("COMMIT"));
    EXPECT_EQ(counter.producers, 2);
    EXPECT_EQ(counter.threads.size(), 2u);
  }
  Connection c = connect({.path = path, .read_only = true});
  EXPECT_EQ(integer(c, "SELECT count(DISTINCT i) FROM t"), kRows);
  EXPECT_EQ(integer(c, "SELECT sum(i) FROM t"), kRows * (kRows - 1) / 2);
  EXPECT_EQ(integer(c, "SELECT count(short) FROM t WHERE short = 'row ' || i"), kRows / 2);
  EXPECT_EQ(
      integer(c, "SELECT count(*) FROM t WHERE long = 'a text of more than twelve bytes, number ' || i"),
      kRows);
  EXPECT_EQ(
      integer(c, "SELECT count(*) FROM t WHERE third = (i % 3 = 0) AND epoch(instant) = i AND half * 2 = i"),
      kRows);
}

TEST_F(SourceTest, AFailingProducerRollsBack) {
  Counter counter;
  counter.count = 1'000'000;
  counter.fail_at = 500'000;
  Connection c = connect({.path = folder_ / "store.duckdb", .keep_order = false, .threads = 2});
  ASSERT_TRUE(c.add_source(numbers(counter, 2)));
  ASSERT_TRUE(c.execute("CREATE TABLE t AS FROM numbers() WITH NO DATA; BEGIN"));
  auto failed = c.query("INSERT INTO t FROM numbers()");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::storage_full) << "the producer's own error comes back";
  EXPECT_EQ(failed.error().what, "no room for row 12345");
  EXPECT_LT(counter.next, 600'000) << "the others were asked no more";
  ASSERT_TRUE(c.execute("ROLLBACK"));
  EXPECT_EQ(integer(c, "SELECT count(*) FROM t"), 0);

  counter.next = 0;  // and the source works again
  counter.fail_at = -1;
  EXPECT_EQ(integer(c, "INSERT INTO t FROM numbers()"), 1'000'000);
}

TEST_F(SourceTest, ExceptionsBecomeErrors) {
  Counter counter;
  counter.count = 10'000;
  counter.throw_at = 5000;
  Connection c = connect({});
  ASSERT_TRUE(c.add_source(numbers(counter, 1)));
  auto failed = c.query("SELECT sum(i) FROM numbers()");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::internal);
  EXPECT_THAT(failed.error().what, testing::HasSubstr("thrown"));

  ASSERT_TRUE(c.add_source(
      {.name = "empty_handed", .columns = {{"i", Type::integer}}, .max_threads = 1, .producer = [] {
         return std::unique_ptr<RowProducer>();
       }}));
  EXPECT_EQ(c.query("FROM empty_handed()").error().code, ErrorCode::internal);
  // An error whose result nobody read does not turn up in the next query.
  EXPECT_EQ(integer(c, "SELECT 1"), 1);
}

TEST_F(SourceTest, SandboxedSqlMayReadIt) {
  Counter counter;
  counter.count = 10;
  Connection c = connect({.sandboxed = true});
  ASSERT_TRUE(c.add_source(numbers(counter, 1)));
  auto table = c.select("SELECT sum(i) FROM Numbers()", 1);
  ASSERT_TRUE(table) << table.error().message("test");
  EXPECT_EQ(table->rows[0][0], Value(std::int64_t{45}));
}

}  // namespace
}  // namespace sickbay::duck
