// SPDX-License-Identifier: Apache-2.0
// The records that could not be read: counted by reason, and written to a file as lines of JSON.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::workload {

/// `reason` without its values, so that a million records need not be a million reasons: what stands in
/// quotes becomes '...', numbers become N.
std::string reason_kind(std::string_view reason);

struct RejectCount {
  std::uint64_t records = 0, first_line = 0;
  std::string example;  ///< the reason of that line, with its values
};

/// For several threads.
class Rejects {
 public:
  /// With `path`, makes the file.  Errors: not_found, denied, storage_broken.
  static Result<std::unique_ptr<Rejects>> make(const std::string& path, std::size_t sources);
  ~Rejects();
  Rejects(const Rejects&) = delete;
  Rejects& operator=(const Rejects&) = delete;

  void add(std::size_t source, const std::string& name, std::uint64_t line, std::string_view reason,
           std::string_view record);
  std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }
  /// Ends the file.  Errors: storage_full, storage_broken.
  Status close();

  /// By source and kind of reason; only when nobody adds any more.
  const std::map<std::pair<std::size_t, std::string>, RejectCount>& counts() const { return counts_; }
  std::uint64_t of_source(std::size_t source) const { return by_source_[source]; }

 private:
  Rejects() = default;
  std::mutex lock_;
  std::map<std::pair<std::size_t, std::string>, RejectCount> counts_;
  std::vector<std::uint64_t> by_source_;
  std::atomic<std::uint64_t> total_{0};
  std::string path_;
  std::FILE* file_ = nullptr;
};

}  // namespace sickbay::workload
