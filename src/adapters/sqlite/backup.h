// SPDX-License-Identifier: Apache-2.0
// Backups of the journal, made beside a running daemon.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sickbay {

struct Backup {
  std::string file;
  std::int64_t events = 0;
  std::vector<std::string> removed;  ///< older ones
};

/// Writes a copy of the journal at `path`, as of one moment, to the folder `folder` under a name with `now`,
/// and removes all but the newest `keep` copies there.  A copy gets its name only when it has been read again
/// and is whole; older ones are removed only then, so that a journal that is damaged by now costs no good
/// copy.  The archives are not copied: they change once a day, and any tool that copies files will do.
/// Errors: storage_broken where the journal is damaged (nothing is written), storage_full, denied, not_found.
Result<Backup> back_up_journal(const std::string& path, const std::string& folder, std::size_t keep,
                               TimePoint now);

}  // namespace sickbay
