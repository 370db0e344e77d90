// SPDX-License-Identifier: Apache-2.0
// Salvage: a new journal of what is whole in a damaged one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "adapters/sqlite/check.h"

namespace sickbay {

struct Salvage {
  JournalCheck found;
  std::int64_t kept = 0;              ///< events
  std::vector<std::string> given_up;  ///< subjects that lost an event: closed, their other events in `rest`
  std::string rest;                   ///< a file beside the new one; "": there was nothing to put there
};

/// True for those that are given up whole where one event of them is lost.
bool is_given_up_by_loss(const std::string& subject);

/// Writes what can be kept of `path` to the new file `out`.  A case, a running job, a recovery or a round
/// that lost one event is given up whole, for half of its history could have an effect done twice: it is
/// closed, and its other events lie in an archive beside `out`.  Of other subjects (nodes, findings, the
/// cluster) what is whole is kept: what is lost of them is seen again. Errors: conflict (`out` is there),
/// those of check_journal, storage_full.
Result<Salvage> salvage_journal(const std::string& path, const std::string& out);

}  // namespace sickbay
