// SPDX-License-Identifier: Apache-2.0
// Pass 1: where the records of the logs are, and which jobs have theirs in more than one place.
//
// Most jobs' records lie together, and of those nothing is kept: pass 2 sees them as it goes.  Kept are the
// runs of the others, 16 bytes each, sorted, so that whoever meets the first run finds the rest.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/import/log.h"

namespace sickbay::workload {

/// Adjacent records of one job.
struct Run {
  std::uint64_t job = 0;
  std::uint64_t where = 0;  ///< place << 16 | length, 0xffff where it is longer than that says
  static constexpr std::uint64_t kLong = 0xffff;

  static Run make(std::uint64_t job, std::uint64_t place, std::uint64_t length) {
    return {job, place << 16 | (length < kLong ? length : kLong)};
  }
  std::uint64_t place() const { return where >> 16; }
  std::uint64_t length() const { return where & 0xffff; }
};

class LogIndex {
 public:
  std::vector<Block> blocks;          ///< by place
  std::vector<std::string> contents;  ///< of each log, its content's hash

  /// All runs of `job` by place, where it has more than one; else empty.
  std::span<const Run> runs_of(std::uint64_t job) const;
  /// The block that holds `place`.
  const Block& block_at(const std::vector<Log>& logs, std::uint64_t place) const;
  std::size_t scattered_runs() const { return scattered_.size(); }

 private:
  friend Result<LogIndex> make_index(const std::vector<Log>& logs, int threads, std::size_t block_bytes);
  std::vector<Run> scattered_;         // by job, then place
  std::vector<std::uint64_t> filter_;  // a bit for each job of scattered_, by the low bits of its hash
};

inline constexpr std::size_t kBlockBytes = std::size_t{4} << 20;

/// Errors: as Input's.
Result<LogIndex> make_index(const std::vector<Log>& logs, int threads, std::size_t block_bytes = kBlockBytes);

}  // namespace sickbay::workload
