// SPDX-License-Identifier: Apache-2.0
// WriterLock: at most one process writes a journal, for as long as it lives.
//
// An open-file-description lock on PATH.lock.  The kernel drops it when the process ends in whatever way, so
// nothing is ever left to clean up; SQLite's own locks would let two writers take turns, each sure that it
// knows the last seq.
#pragma once
#include <string>

#include "base/result.h"

namespace sickbay::sqlite {

class WriterLock {
 public:
  WriterLock() = default;
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  ~WriterLock();

  /// Takes the lock of the journal at `path`.  Waits, up to 5 s, only for what a writer that was killed has
  /// left: a process of its own that had not come to its exec.  Errors: conflict (another process has it;
  /// names its pid), denied, not_found (no such folder), storage_full, storage_broken (also: a file system
  /// without locks).
  Status take(const std::string& path);

 private:
  int fd_ = -1;
};

}  // namespace sickbay::sqlite
