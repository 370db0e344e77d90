// SPDX-License-Identifier: Apache-2.0
// Snapshots: the kept state beside the journal (journal.snapshot), so that a start need not replay a year.
//
// A child makes it, `sickbayd --snapshot` at the lowest priority: it replays the journal as any start does,
// from the last snapshot where that stands, and writes down what came of it.  So a snapshot is a replay, the
// loop never waits for one, and a fault in the making costs nothing but the snapshot.  A start takes it only
// where all that it depends on is as it was (service/snapshot.h), else it replays the whole journal, and says
// why.  Source: doc/design/snapshot.md.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ports/process_runner.h"
#include "service/controller.h"
#include "service/snapshot.h"

namespace sickbay {

class SqliteJournal;

class Snapshots {
 public:
  /// `config_texts`: all that the configuration was read from.
  Snapshots(std::string path, const std::vector<std::string>& config_texts);

  /// The state to start from; nothing where there is none that stands for this journal, this program and this
  /// configuration: `why_not` says why, empty where there is no file.
  std::optional<KeptState> load(SqliteJournal& journal);
  const std::string& why_not() const { return why_not_; }

  /// In the child: writes down the state of `controller`, which has replayed `journal` and not begun to work.
  /// `mark`: that of the events up to `marked`, before the replay.  The file is there only when it was read
  /// again and gave the same state: `read_again` restores it into a controller as new, and gives its save().
  /// Errors: conflict (the journal was archived meanwhile), internal (it does not give the same), and those
  /// of writing.
  using ReadAgain = std::function<Result<std::string>(const KeptState& state)>;
  Result<SnapshotHead> write(SqliteJournal& journal, const Controller& controller, std::int64_t last,
                             std::int64_t marked, const std::string& mark, const ReadAgain& read_again);

  /// Has a child make one, where a start would have much to read: `done` gets its end, for the log.  One at a
  /// time; false: none is needed, or one is being made.
  bool order_if_due(SqliteJournal& journal, ProcessRunner& processes, std::vector<std::string> arguments,
                    std::function<void(std::string)> done);

  /// Fewer events than this are replayed sooner than anybody notices.
  static constexpr std::int64_t kWorthIt = 100'000;

 private:
  const std::string& program();
  std::optional<SnapshotHead> head_in_file() const;
  std::string why_it_does_not_stand(const SnapshotHead& head, SqliteJournal& journal);

  const std::string path_;
  std::string config_, program_, why_not_;
  bool under_way_ = false;
};

}  // namespace sickbay
