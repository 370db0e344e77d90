// SPDX-License-Identifier: Apache-2.0
// ports/journal_rows.h on SQLite: the journal that is followed, and its copy on the other host.
#pragma once
#include <memory>
#include <string>

#include "ports/journal_rows.h"

namespace sickbay {

/// Opens the journal at `path` for reading, beside whoever writes it.  Errors: not_found, denied, too_new,
/// storage_broken.
Result<std::unique_ptr<JournalRows>> open_journal_rows(const std::string& path);

/// Opens or makes the copy at `path`, and removes what was begun anew and not ended.  It is the file's writer
/// until it is destroyed: then sickbayd may open the copy as its journal.  Errors: those of open_journal().
Result<std::unique_ptr<JournalCopy>> open_journal_copy(const std::string& path);

}  // namespace sickbay
