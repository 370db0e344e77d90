// SPDX-License-Identifier: Apache-2.0
#include "workload/import/bring_in.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <utility>

#include "adapters/duckdb/chunk_writer.h"

namespace sickbay::workload {
namespace {

using ValueRows = std::vector<std::vector<duck::Value>>;

void put(duck::ChunkWriter& chunk, std::size_t column, const duck::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    chunk.set(column, std::string_view(*text));
  else if (const auto* whole = std::get_if<std::int64_t>(&value))
    chunk.set(column, *whole);
  else if (const auto* real = std::get_if<double>(&value))
    chunk.set(column, *real);
  else if (const auto* truth = std::get_if<bool>(&value))
    chunk.set_bool(column, *truth);
  else
    chunk.set_null(column);
}

// One thread alone.
class ValueProducer final : public duck::RowProducer {
 public:
  explicit ValueProducer(std::shared_ptr<const ValueRows> rows) : rows_(std::move(rows)) {}
  Status fill(duck::ChunkWriter& chunk) override {
    for (; next_ < rows_->size() && !chunk.full(); ++next_) {
      const auto& row = (*rows_)[next_];
      for (std::size_t column = 0; column < row.size(); ++column) put(chunk, column, row[column]);
      chunk.end_row();
    }
    return {};
  }

 private:
  std::shared_ptr<const ValueRows> rows_;
  std::size_t next_ = 0;
};

// A source of the rows, under a name that no other has.  It is known as long as the database is open, so the
// rows are the caller's to let go.
Result<std::string> add_rows(duck::Connection& connection, const std::string& table,
                             const std::shared_ptr<std::shared_ptr<const ValueRows>>& rows) {
  static std::atomic<int> count{0};
  auto like = connection.query("FROM " + table + " LIMIT 0");
  if (!like) return fail(std::move(like.error()));
  duck::RowSource source;
  source.name = fmt::format("incoming_source_{}", count.fetch_add(1));
  source.columns = std::move(like->columns);
  for ([[maybe_unused]] const auto& row : **rows)
    SB_CHECK(row.size() == source.columns.size(), "a row has a value for each column");
  source.producer = [rows] { return std::make_unique<ValueProducer>(*rows); };
  std::string name = source.name;
  if (auto added = connection.add_source(std::move(source)); !added) return fail(std::move(added.error()));
  return name;
}

Result<std::uint64_t> count_of(duck::Connection& connection, std::string_view sql) {
  auto table = connection.query(sql);
  if (!table) return fail(std::move(table.error()));
  const auto* n = table->rows.empty() ? nullptr : std::get_if<std::int64_t>(&table->rows[0][0]);
  return n != nullptr ? static_cast<std::uint64_t>(*n) : 0;
}

}  // namespace

Result<NodeImport> bring_in(Store& store, const BringIn& how, ValueRows rows) {
  duck::Connection& c = store.connection();
  NodeImport result;
  result.seen = rows.size();
  const auto held =
      std::make_shared<std::shared_ptr<const ValueRows>>(std::make_shared<const ValueRows>(std::move(rows)));
  const auto source = add_rows(c, how.table, held);
  if (!source) return fail(source.error());
  const auto work = [&]() -> Status {
    auto filled = c.execute(
        fmt::format("CREATE TEMP TABLE incoming_rows AS FROM {} LIMIT 0; INSERT INTO incoming_rows SELECT * "
                    "FROM {}()",
                    how.table, *source));
    if (!filled) return filled;
    auto a = count_of(c, how.added);
    if (!a) return fail(std::move(a.error()));
    auto b = count_of(c, how.changed);
    if (!b) return fail(std::move(b.error()));
    result.added = *a;
    result.changed = *b;
    return c.execute(how.merge + "; DROP TABLE incoming_rows");
  };
  Status done = c.execute("BEGIN");
  if (done) {
    done = work();
    if (done)
      done = c.execute("COMMIT");
    else
      (void)c.execute("ROLLBACK");
  }
  held->reset();
  if (!done) return fail(std::move(done.error()));
  return result;
}

}  // namespace sickbay::workload
