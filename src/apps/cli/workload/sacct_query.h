// SPDX-License-Identifier: Apache-2.0
// Asking sacct itself for a log, with every column that the import can read and this sacct knows.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "workload/read/reader.h"

namespace sickbay::cli {

/// A log of the jobs that were there in [from, to), UTC seconds, in a file that is gone with this value.
class SacctLog {
 public:
  /// Errors: missing_program, refused_by_slurm (with sacct's words on standard error), storage_full, os.
  static Result<SacctLog> ask(std::int64_t from, std::optional<std::int64_t> to);
  SacctLog(SacctLog&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  SacctLog& operator=(SacctLog&&) = delete;
  ~SacctLog();

  std::string path() const;                     ///< under /proc, for who reads it now
  static workload::ReadOptions read_options();  ///< how it is written

 private:
  explicit SacctLog(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace sickbay::cli
