// SPDX-License-Identifier: Apache-2.0
// The journal straight from its file, for when sickbayd does not run.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "model/event.h"

namespace sickbay::cli {

/// Calls `each` for the events of the journal at `path` after `after`, of one subject or ("") of all, until
/// it returns false.  Errors: as opening and reading a journal (adapters/sqlite): not_found, denied, too_new,
/// ...
Status read_journal_file(const std::string& path, const std::string& subject, std::int64_t after,
                         const std::function<bool(const Event&)>& each);

}  // namespace sickbay::cli
