// SPDX-License-Identifier: Apache-2.0
#include "adapters/sqlite/row.h"

#include <fmt/format.h>

#include <array>

#include "adapters/sqlite/statement.h"
#include "base/fnv.h"

namespace sickbay::sqlite {
namespace {

constexpr std::string_view kColumns = "seq, at, v, subject, kind, body, sum";

std::uint64_t with_number(std::uint64_t digest, std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bits >> (8 * i));
  return fnv64({bytes.data(), bytes.size()}, digest);
}

}  // namespace

Row row_of(const Event& event, std::string body) {
  return {event.seq, to_micros(event.at), event.v, event.subject, event.kind, std::move(body)};
}
Row row_of(const Event& event) { return row_of(event, event.body.dump()); }

Event event_of(Row row, Json body) {
  return {row.seq,
          from_micros(row.at),
          static_cast<int>(row.v),
          std::move(row.subject),
          std::move(row.kind),
          std::move(body)};
}

std::int64_t row_sum(std::int64_t seq, std::int64_t at, std::int64_t v, std::string_view subject,
                     std::string_view kind, std::string_view body) {
  std::uint64_t digest = kFnvBegin;
  for (const std::int64_t number : {seq, at, v}) digest = with_number(digest, number);
  for (const std::string_view text : {subject, kind, body})
    digest = fnv64(text, with_number(digest, static_cast<std::int64_t>(text.size())));
  return static_cast<std::int64_t>(digest);
}

Status prepare_select(Statement& statement, sqlite3* db, std::string_view which) {
  return statement.prepare(db, fmt::format("SELECT {} FROM event {}", kColumns, which).c_str());
}

Row row_of(Statement& statement) {
  return {statement.integer(0), statement.integer(1), statement.integer(2),
          statement.text(3),    statement.text(4),    statement.text(5)};
}

std::int64_t sum_of(Statement& statement) { return statement.integer(6); }

Status prepare_insert(Statement& statement, sqlite3* db, std::string_view verb) {
  return statement.prepare(db,
                           fmt::format("{} INTO event({}) VALUES(?,?,?,?,?,?,?)", verb, kColumns).c_str());
}

std::int64_t bind_row(Statement& statement, const Row& row) {
  const std::int64_t sum = row_sum(row);
  statement.reset();
  statement.bind(1, row.seq);
  statement.bind(2, row.at);
  statement.bind(3, row.v);
  statement.bind(4, row.subject);
  statement.bind(5, row.kind);
  statement.bind(6, row.body);
  statement.bind(7, sum);
  return sum;
}

}  // namespace sickbay::sqlite
