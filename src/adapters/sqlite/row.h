// SPDX-License-Identifier: Apache-2.0
// Row: one event as it lies in the table `event`, and its sum.
//
// The columns and their order are known here alone.  Inside adapters/sqlite only.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event.h"

namespace sickbay::sqlite {

class Statement;

/// The columns of one row: the body is not parsed.
struct Row {
  std::int64_t seq = 0, at = 0, v = 0;
  std::string subject, kind, body;
};

/// `body`: the event's own as text, where the caller has it already.
Row row_of(const Event& event, std::string body);
Row row_of(const Event& event);
/// `body`: the row's own, parsed.
Event event_of(Row row, Json body);

/// Of all columns, each with its length, so that no letter can move from one to the next unseen.
std::int64_t row_sum(std::int64_t seq, std::int64_t at, std::int64_t v, std::string_view subject,
                     std::string_view kind, std::string_view body);
inline std::int64_t row_sum(const Row& row) {
  return row_sum(row.seq, row.at, row.v, row.subject, row.kind, row.body);
}

/// A statement that gives rows with their sums; `which` is what stands behind FROM event: "WHERE seq = ?".
Status prepare_select(Statement& statement, sqlite3* db, std::string_view which);
/// Of a statement of prepare_select.
Row row_of(Statement& statement);
std::int64_t sum_of(Statement& statement);

/// A statement that writes a row; `verb`: "INSERT" or "INSERT OR IGNORE".
Status prepare_insert(Statement& statement, sqlite3* db, std::string_view verb = "INSERT");
/// To a statement of prepare_insert, which is made ready for it.  Returns the sum.
std::int64_t bind_row(Statement& statement, const Row& row);

}  // namespace sickbay::sqlite
