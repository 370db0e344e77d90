// SPDX-License-Identifier: Apache-2.0
// sickbay journal --verify, --salvage and --backup: is the file as it was written, what can be kept of one
// that is not, and a copy for that day.
#pragma once
#include <cstddef>
#include <string>

#include "base/result.h"

namespace sickbay::cli {

/// Prints what is damaged or gone in the journal at `path` and its archives.  0: nothing; 1: something.
/// Errors: those of opening it.
Result<int> verify_journal(const std::string& path, bool json);
/// Writes what can be kept of it to the new file `out`, and prints what is lost.  0: nothing is lost; 1:
/// something.  Errors: as above; conflict (`out` is there), storage_full.
Result<int> salvage_to(const std::string& path, const std::string& out, bool json);

/// Writes a copy of it into `folder`, where the newest `keep` stay.  Errors: those of back_up_journal.
Result<int> back_up_to(const std::string& path, const std::string& folder, std::size_t keep, bool json);

}  // namespace sickbay::cli
