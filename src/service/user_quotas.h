// SPDX-License-Identifier: Apache-2.0
// UserQuotas: how much one user may have kept, so that none fills the disk for all.
//
// A submission is a file in the folder of its case, and what is said of a case stands in the journal for
// weeks.  So a user has so many open cases, and posts so many bytes in an hour.  Root has no bound.  And
// below a reserve of free space nothing new is begun, for anybody: what is left is for the end of what is
// open.  Nothing of it is journaled: a restart gives everybody his hour anew.
#pragma once
#include <cstdint>
#include <functional>
#include <map>

#include "base/result.h"
#include "service/allowance.h"

namespace sickbay {

class UserQuotas {
 public:
  struct Limits {
    std::size_t open_cases = 1000;
    std::int64_t bytes_an_hour = std::int64_t{64} << 20;
    std::int64_t reserve = std::int64_t{64} << 20;  ///< bytes that must be free
  };
  explicit UserQuotas(Limits limits) : limits_(limits) {}

  /// `free` says how many bytes are free where sickbayd keeps its state; below nothing (it cannot be said) is
  /// enough.
  void watch_space(std::function<std::int64_t()> free) { free_ = std::move(free); }

  /// Takes in a request of `bytes`.  Errors: busy (too many of late).
  Status take(std::uint32_t uid, std::size_t bytes, TimePoint now);
  /// Whether a user who has so many open cases may open another.  Errors: busy.
  Status may_open(std::uint32_t uid, std::size_t open) const;
  /// Whether something new may be begun.  Errors: storage_full.
  Status has_room() const;

 private:
  const Limits limits_;
  std::function<std::int64_t()> free_;
  std::map<std::uint32_t, Allowance> bytes_;  ///< of who has posted of late
};

}  // namespace sickbay
