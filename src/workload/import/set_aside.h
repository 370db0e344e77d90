// SPDX-License-Identifier: Apache-2.0
// Records that an import meets among its jobs and that go into another table, kept until that is filled.
//
// One INSERT fills one table.  The first import of a log used to bring jobs and records into a third, from
// which both were then copied; that cost half as much again.  Mostly there are few records, but a log may
// well consist of nothing else, so they go into a file without a name and not into memory.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "adapters/duckdb/database.h"
#include "base/result.h"
#include "workload/job/row.h"

namespace sickbay::workload {

class SetAside {
 public:
  SetAside() = default;
  SetAside(const SetAside&) = delete;
  SetAside& operator=(const SetAside&) = delete;

  /// Keeps a row of any kind, texts and all.  From any thread.  Errors: os, storage_full.
  Status add(const Row& row);
  std::uint64_t rows() const { return rows_; }
  /// Forgets all; a source of it gives nothing more.
  void clear() { file_.reset(); }

  /// A source that gives all rows once, after the last add(): record_columns() and row_kind, as
  /// RowWriter::of_records() writes them.  It holds `kept`.
  static duck::RowSource source(std::shared_ptr<SetAside> kept, std::string name);

 private:
  class Producer;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Status open();
  Status rewind();
  /// The next row; its texts live until the next call.  False: there is none.
  Result<bool> next(Row& row);

  std::mutex lock_;
  std::unique_ptr<std::FILE, Close> file_;  // made for the first row
  std::string bytes_;
  std::uint64_t rows_ = 0;
};

}  // namespace sickbay::workload
