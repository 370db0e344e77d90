// SPDX-License-Identifier: Apache-2.0
// Snapshot: a state that was kept, as the bytes of a file (doc/design/snapshot.md).
//
// What a replay up to an event had led to, with all that must still hold for it to stand for that replay: the
// program that made it, its configuration, and the events.  Whoever reads it compares these; here is only
// what the file looks like, and that not one bit of it has changed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay {

struct SnapshotHead {
  std::string program;   ///< digest of the file of sickbayd: another one may make another state of the events
  std::string config;    ///< digest of what it was configured with, for the same reason
  std::int64_t seq = 0;  ///< of the last event that is in it
  std::string mark;      ///< of the events up to that one (SqliteJournal::mark_until)
  friend bool operator==(const SnapshotHead&, const SnapshotHead&) = default;
};

struct SnapshotFile {
  SnapshotHead head;
  std::string state;  ///< Controller::save()
};

/// The head of a file, by its first line, to see whether it is worth reading the rest; nothing where it is of
/// another format.
std::optional<SnapshotHead> snapshot_head(std::string_view line);
/// The bytes of a file: a line for people with the head, the state, and the SHA-256 of both.
std::string snapshot_bytes(const SnapshotHead& head, std::string_view state);
/// And back.  Errors: bad_input (what it is not: whole, unchanged, of this format).
Result<SnapshotFile> parse_snapshot(std::string_view bytes);

}  // namespace sickbay
