// SPDX-License-Identifier: Apache-2.0
// What `sickbayd --snapshot` does: replays the journal beside the daemon that writes it, and keeps the state
// (snapshots.h).
#pragma once
#include "base/result.h"
#include "ports/loop.h"
#include "ports/process_runner.h"
#include "ports/resource_manager.h"
#include "service/case_store.h"
#include "service/config.h"
#include "service/effects.h"

namespace sickbay {

class Snapshots;
class SqliteJournal;

/// All that a Controller wants to be there.  Nothing is asked of them: nobody begins to work here.
struct SnapshotParts {
  Loop& loop;
  SqliteJournal& journal;  ///< for reading
  ResourceManager& manager;
  ProcessRunner& processes;
  CaseStore& cases;
  const Config& config;
  const Effects::Verification& verification;
};

/// Makes a snapshot and prints one line about it.  Errors: those of a replay and of Snapshots::write.
Status make_snapshot(const SnapshotParts& parts, Snapshots& snapshots);

}  // namespace sickbay
