// SPDX-License-Identifier: Apache-2.0
// Balance: how it is known that a file holds all of its events, and each as it was written.
//
// Each row has a sum of its columns; the file has one row that says how many events it holds and what their
// sums add up to, changed in the transaction that changes the events.  One wrong bit makes a row's own sum
// wrong; a row that is gone, came back or was put in another's place makes the balance wrong.  A sum of sums
// and not a chain: a compaction takes events out of the middle.  It finds what disks, memory and people with
// an editor do, and keeps out nobody who means harm.  Inside adapters/sqlite only.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sickbay::sqlite {

struct Balance {
  std::int64_t events = 0;
  std::int64_t sum = 0;  ///< of all row sums, modulo 2^64

  void add(std::int64_t sum_of_row);
  void take(std::int64_t sum_of_row);
  friend bool operator==(const Balance&, const Balance&) = default;
};

/// What the file says of itself.  Errors: storage_broken, also where the row is not there.
Result<Balance> read_balance(sqlite3* db, const std::string& path);
/// Within the caller's transaction.
Status write_balance(sqlite3* db, const Balance& balance);

/// What the events up to `seq` are known by: of the whole, less what comes after it.  Both are read one after
/// the other: who is not alone with the file has it stand still meanwhile.  Errors: storage_broken.
Result<std::string> mark_until(sqlite3* db, const std::string& path, std::int64_t seq);

/// Makes the functions that the migration needs: sickbay_row_sum(seq, at, v, subject, kind, body) and the
/// aggregate sickbay_sum(sum), which, unlike SQLite's, wraps around.
Status add_functions(sqlite3* db);

}  // namespace sickbay::sqlite
