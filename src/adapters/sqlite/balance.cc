// SPDX-License-Identifier: Apache-2.0
#include "adapters/sqlite/balance.h"

#include <fmt/format.h>

#include "adapters/sqlite/row.h"
#include "adapters/sqlite/statement.h"

namespace sickbay::sqlite {
namespace {

std::uint64_t bits(std::int64_t number) { return static_cast<std::uint64_t>(number); }

std::string_view text_of(sqlite3_value* value) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return bytes ? std::string_view(bytes, static_cast<std::size_t>(sqlite3_value_bytes(value)))
               : std::string_view();
}

void sql_row_sum(sqlite3_context* context, int, sqlite3_value** of) {
  sqlite3_result_int64(
      context, row_sum(sqlite3_value_int64(of[0]), sqlite3_value_int64(of[1]), sqlite3_value_int64(of[2]),
                       text_of(of[3]), text_of(of[4]), text_of(of[5])));
}

void sql_sum_step(sqlite3_context* context, int, sqlite3_value** of) {
  auto* total = static_cast<std::uint64_t*>(sqlite3_aggregate_context(context, sizeof(std::uint64_t)));
  if (!total) return sqlite3_result_error_nomem(context);
  *total += bits(sqlite3_value_int64(of[0]));
}

void sql_sum_end(sqlite3_context* context) {
  const auto* total = static_cast<std::uint64_t*>(sqlite3_aggregate_context(context, 0));
  sqlite3_result_int64(context, total ? static_cast<std::int64_t>(*total) : 0);  // null: of no row at all
}

}  // namespace

void Balance::add(std::int64_t sum_of_row) {
  ++events;
  sum = static_cast<std::int64_t>(bits(sum) + bits(sum_of_row));
}

void Balance::take(std::int64_t sum_of_row) {
  --events;
  sum = static_cast<std::int64_t>(bits(sum) - bits(sum_of_row));
}

Result<Balance> read_balance(sqlite3* db, const std::string& path) {
  Statement statement;
  if (auto prepared = statement.prepare(db, "SELECT events, sum FROM balance"); !prepared)
    return fail(prepared.error());
  const int code = statement.step();
  if (code == SQLITE_ROW) return Balance{statement.integer(0), statement.integer(1)};
  if (code != SQLITE_DONE) return fail(error_of(db, "read the journal " + path));
  return fail(ErrorCode::storage_broken, path + " has lost its balance, which says how many events it holds");
}

Status write_balance(sqlite3* db, const Balance& balance) {
  Statement statement;
  if (auto p = statement.prepare(db, "UPDATE balance SET events = ?, sum = ?"); !p) return p;
  statement.bind(1, balance.events);
  statement.bind(2, balance.sum);
  if (statement.step() != SQLITE_DONE) return fail(error_of(db, "write the journal's balance"));
  return {};
}

Result<std::string> mark_until(sqlite3* db, const std::string& path, std::int64_t seq) {
  auto balance = read_balance(db, path);
  if (!balance) return fail(balance.error());
  Statement later;
  if (auto p = later.prepare(db, "SELECT sum FROM event WHERE seq > ?"); !p) return fail(p.error());
  later.bind(1, seq);
  int code;
  while ((code = later.step()) == SQLITE_ROW) balance->take(later.integer(0));
  if (code != SQLITE_DONE) return fail(error_of(db, "read the journal " + path));
  return fmt::format("{}:{:016x}", balance->events, bits(balance->sum));
}

Status add_functions(sqlite3* db) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
  if (sqlite3_create_function(db, "sickbay_row_sum", 6, kFlags, nullptr, sql_row_sum, nullptr, nullptr) !=
          SQLITE_OK ||
      sqlite3_create_function(db, "sickbay_sum", 1, kFlags, nullptr, nullptr, sql_sum_step, sql_sum_end) !=
          SQLITE_OK)
    return fail(error_of(db, "prepare the journal"));
  return {};
}

}  // namespace sickbay::sqlite
