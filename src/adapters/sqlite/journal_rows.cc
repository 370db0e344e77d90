// SPDX-License-Identifier: Apache-2.0
// The journal as the one who is followed reads it.
#include "adapters/sqlite/journal_rows.h"

#include <fmt/format.h>

#include "adapters/sqlite/balance.h"
#include "adapters/sqlite/row.h"
#include "adapters/sqlite/schema.h"
#include "adapters/sqlite/statement.h"

namespace sickbay {
namespace {

using sqlite::error_of;
using sqlite::Statement;

class SqliteRows final : public JournalRows {
 public:
  Status open(const std::string& path) {
    path_ = path;
    if (auto opened = connection_.open(path, SQLITE_OPEN_READONLY); !opened) return opened;
    sqlite3_busy_timeout(db(), 5000);
    if (auto known = sqlite::check_schema(db(), path, sqlite::migrations()); !known)
      return fail(known.error());
    if (auto p = sqlite::prepare_select(after_, db(), "WHERE seq > ?1 ORDER BY seq"); !p) return p;
    return one_.prepare(db(), "SELECT sum FROM event WHERE seq = ?");
  }

  Result<std::vector<JournalRow>> rows_after(std::int64_t seq, std::size_t most_bytes) override {
    std::vector<JournalRow> rows;
    std::size_t bytes = 0;
    after_.reset();
    after_.bind(1, seq);
    int code = SQLITE_DONE;
    while (bytes < most_bytes && (code = after_.step()) == SQLITE_ROW) {
      sqlite::Row row = sqlite::row_of(after_);
      const std::int64_t sum = sqlite::sum_of(after_);
      if (sqlite::row_sum(row) != sum) {
        after_.reset();
        return fail(Error(ErrorCode::storage_broken, fmt::format("event {} of {} is damaged", row.seq, path_))
                        .because("it is not what was written: its checksum does not fit"));
      }
      const std::size_t size = row.subject.size() + row.kind.size() + row.body.size();
      if (!rows.empty() && bytes + size > most_bytes) {
        code = SQLITE_DONE;
        break;
      }
      bytes += size;
      rows.push_back(
          {row.seq, row.at, row.v, std::move(row.subject), std::move(row.kind), std::move(row.body), sum});
    }
    after_.reset();  // a statement that is under way keeps the write-ahead log from being emptied
    if (code != SQLITE_DONE && code != SQLITE_ROW) return fail(error_of(db(), "read the journal " + path_));
    return rows;
  }

  Result<std::optional<std::int64_t>> sum_at(std::int64_t seq) override {
    one_.reset();
    one_.bind(1, seq);
    const int code = one_.step();
    std::optional<std::int64_t> sum;
    if (code == SQLITE_ROW) sum = one_.integer(0);
    one_.reset();
    if (code != SQLITE_DONE && code != SQLITE_ROW) return fail(error_of(db(), "read the journal " + path_));
    return sum;
  }

  Result<std::int64_t> last_seq() override {
    Statement last;
    if (auto p = last.prepare(db(), "SELECT coalesce(max(seq), 0) FROM event"); !p) return fail(p.error());
    if (last.step() != SQLITE_ROW) return fail(error_of(db(), "read the journal " + path_));
    return last.integer(0);
  }

  Result<std::string> mark_until(std::int64_t seq) override {
    // As of one moment: somebody writes.
    if (auto begun = sqlite::execute(db(), "SAVEPOINT look"); !begun) return fail(begun.error());
    auto mark = sqlite::mark_until(db(), path_, seq);
    sqlite3_exec(db(), "RELEASE look", nullptr, nullptr, nullptr);
    return mark;
  }

 private:
  sqlite3* db() const { return connection_.get(); }

  sqlite::Connection connection_;
  std::string path_;
  Statement after_, one_;
};

}  // namespace

Result<std::unique_ptr<JournalRows>> open_journal_rows(const std::string& path) {
  auto rows = std::make_unique<SqliteRows>();
  if (auto opened = rows->open(path); !opened) return fail(opened.error());
  return std::unique_ptr<JournalRows>(std::move(rows));
}

}  // namespace sickbay
