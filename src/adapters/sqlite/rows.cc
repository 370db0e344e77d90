// SPDX-License-Identifier: Apache-2.0
#include "adapters/sqlite/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "adapters/sqlite/schema.h"
#include "base/json.h"

namespace sickbay::sqlite {
namespace {

// Of the table or, where its last page is damaged, of the index.
std::int64_t highest(sqlite3* db) {
  std::int64_t most = 0;
  for (const char* sql : {"SELECT max(seq) FROM event",
                          "SELECT max(seq) FROM event INDEXED BY event_subject WHERE subject > ''"}) {
    Statement statement;
    if (statement.prepare(db, sql) && statement.step() == SQLITE_ROW)
      most = std::max(most, statement.integer(0));
  }
  return most;
}

}  // namespace

bool is_readable(const ReadRow& read) { return read.is_whole && Json::parse(read.row.body).has_value(); }

Status WholeRows::open(const std::string& path) {
  if (auto opened = connection_.open(path, SQLITE_OPEN_READONLY); !opened) return opened;
  sqlite3_busy_timeout(db(), 5000);
  const auto found = check_schema(db(), path, migrations());
  if (!found) return fail(found.error());
  if (*found < static_cast<int>(migrations().size()))
    return fail(Error(ErrorCode::storage_broken,
                      fmt::format("{} has schema {}, which has no checksums", path, *found))
                    .remedied_by("start sickbayd on it once: it adds them"));
  // One moment of the file: a daemon may write beside.
  if (auto begun = execute(db(), "BEGIN"); !begun) return begun;
  if (auto prepared = prepare_select(scan_, db(), "WHERE seq > ? ORDER BY seq"); !prepared) return prepared;
  if (auto prepared = prepare_select(one_, db(), "WHERE seq = ?"); !prepared) return prepared;
  last_ = highest(db());
  scan_on();
  return {};
}

void WholeRows::scan_on() {
  scan_.reset();
  scan_.bind(1, at_);
  scans_ = true;
}

std::optional<ReadRow> WholeRows::next() {
  for (;;) {
    if (scans_) {
      const int code = scan_.step();
      if (code == SQLITE_ROW) return row_at(scan_);
      if (code != SQLITE_DONE && trouble_.empty()) trouble_ = sqlite3_errmsg(db());
      scan_.reset();
      scans_ = false;
    }
    // The end; or, behind a damaged page, number by number until one is there, from which it can be scanned
    // again.  (Where a page above others is damaged, a scan may end early without a word.)
    if (at_ >= last_) return std::nullopt;
    one_.reset();
    one_.bind(1, at_ + 1);
    if (one_.step() == SQLITE_ROW) {
      ReadRow row = row_at(one_);
      scan_on();
      return row;
    }
    ++at_;
  }
}

ReadRow WholeRows::row_at(Statement& statement) {
  ReadRow read{row_of(statement), sum_of(statement), false};
  read.is_whole = row_sum(read.row) == read.sum;
  at_ = std::max(at_ + 1, read.row.seq);
  return read;
}

}  // namespace sickbay::sqlite
