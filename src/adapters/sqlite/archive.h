// SPDX-License-Identifier: Apache-2.0
// Archives: where the events of long closed subjects go, one SQLite file a year beside the journal.
//
// The move is safe against a crash at any point because its two halves are ordered: the copy is durable
// before anything is taken out of the journal, and copying again what is there already changes nothing.
// Inside adapters/sqlite.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/event.h"

namespace sickbay::sqlite {

/// "journal-2026.db" for the journal ".../journal.db" and an event of 2026 (UTC).
std::string archive_name(const std::string& journal_path, TimePoint at);

/// The archives that lie beside the journal, whatever they hold, in the order of their years.
std::vector<std::string> archives_of(const std::string& journal_path);

/// Puts `events` (in order, without summaries) into the archive at `path`; durable on return.  Repeatable.
/// Errors: storage_full, storage_broken, too_new; conflict where the archive holds another event under one of
/// these seqs: it belongs to another journal, and nothing was changed.
Status copy_to_archive(const std::string& path, const std::vector<Event>& events);

/// The summary of `events`, all of one subject: an event in the place (seq and stamp) of the last one, with
/// the body {kinds: {KIND: count}, first, last, file}.  `file` names the archive that has them.  A summary
/// among them (the subject had come back to life) is merged into the new one.
Event summary_of(const std::vector<Event>& events, const std::string& file);

}  // namespace sickbay::sqlite
