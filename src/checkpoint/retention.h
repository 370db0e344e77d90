// SPDX-License-Identifier: Apache-2.0
// Which checkpoints end: those beyond a count, an age and a size.  Pure.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "checkpoint/store.h"

namespace sickbay::checkpoint {

struct KeptCheckpoint {
  std::int64_t number = 0;
  TimePoint at = kNoTime;
  bool whole = true;                           ///< its control file and the indexes of its packs are
  std::map<std::string, std::uint64_t> packs;  ///< that it needs here, with their bytes; two may share one
};

struct RetentionLimits {
  std::optional<std::size_t> count;    ///< checkpoints, one or more
  std::optional<Micros> age;           ///< since they were taken
  std::optional<std::uint64_t> bytes;  ///< of all packs that are needed
};

/// Numbers of those that end, oldest first.  The newest that is whole stays whatever the limits say, and what
/// is damaged makes no room in the count: it ends as soon as as many whole ones are newer.
std::vector<std::int64_t> choose_ends(std::vector<KeptCheckpoint> all, const RetentionLimits& limits,
                                      TimePoint now);

/// What `store` keeps.  Costs the indexes of all packs.  Errors: as Store::list.
Result<std::vector<KeptCheckpoint>> kept_in(Files& files, const Store& store);

}  // namespace sickbay::checkpoint
