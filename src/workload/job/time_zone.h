// SPDX-License-Identifier: Apache-2.0
// Time zones by their IANA names.  Readers turn a log's local times into UTC with one, reports turn UTC back
// for the eye: so it stands below both.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::workload {

/// Local times to UTC by an IANA zone, with its past changes; safe for several threads.
class TimeZone {
 public:
  /// "UTC", "Europe/Berlin", "+02:00".  Errors: not_found.
  static Result<TimeZone> make(std::string_view name);
  /// Seconds since 1970 UTC of a local second count; in the hour that comes twice, the first.
  std::int64_t to_utc(std::int64_t local) const;
  /// Its changes: from `at` (UTC seconds) on, `offset` seconds east.  At least one.
  struct Change {
    std::int64_t at, offset;
  };
  const std::vector<Change>& changes() const { return *changes_; }

 private:
  std::shared_ptr<const std::vector<Change>> changes_;
};

}  // namespace sickbay::workload
