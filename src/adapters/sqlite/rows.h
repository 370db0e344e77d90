// SPDX-License-Identifier: Apache-2.0
// WholeRows: all that can be read of a journal whose file may be damaged, in order.
//
// A page that SQLite cannot make sense of hides the rows on it; the walk goes on behind them.  Each row comes
// with whether it is as it was written.  Inside adapters/sqlite only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "adapters/sqlite/row.h"
#include "adapters/sqlite/statement.h"

namespace sickbay::sqlite {

struct ReadRow {
  Row row;
  std::int64_t sum = 0;
  bool is_whole = false;
};

/// It is as it was written, and its body is JSON.
bool is_readable(const ReadRow& read);

class WholeRows {
 public:
  /// Errors: not_found, denied, too_new, storage_broken where not even its first page can be read.
  Status open(const std::string& path);
  /// The next row; nothing at the end.
  std::optional<ReadRow> next();
  /// The highest number that any part of the file knows of.
  std::int64_t last() const { return last_; }
  /// SQLite's words about the first page that it could not read; "" where there was none.
  const std::string& trouble() const { return trouble_; }
  sqlite3* db() const { return connection_.get(); }

 private:
  ReadRow row_at(Statement& statement);
  void scan_on();

  Connection connection_;
  Statement scan_, one_;
  bool scans_ = false;  ///< the next row is the next of scan_
  std::int64_t at_ = 0, last_ = 0;
  std::string trouble_;
};

}  // namespace sickbay::sqlite
