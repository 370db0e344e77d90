// SPDX-License-Identifier: Apache-2.0
// The replay of a job that was gone back in: sickbay redo JOB.
//
// What its owner changed since he went back is his repair: it is found by comparing files with the history,
// kept, and told with its differences.  Repairs that a changed one stood before are done again.  Then the
// recorded submission goes out once more, by the user's own sbatch, with the environment that was recorded;
// sickbay-ckpt in it finds by SICKBAY_CHECKPOINT_JOB and SICKBAY_CHECKPOINT_FROM where to go on.
// Source: doc/design/undo.md.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/undo/rewind.h"

namespace sickbay::cli {

struct RedoWish {
  std::vector<std::string> environment;  ///< NAME=VALUE, or NAME: unset
  std::string exclude;                   ///< hostlist; "": as before
  std::string nodes;                     ///< for this submission alone
  bool as_is = false;                    ///< what the files hold now has all repairs in it
  bool json = false;
};

/// What one POST of a repair says.
struct Repair {
  std::string again;  ///< the operation that is done once more; "": a new repair
  Json changes;
};

struct Redo {
  JobHistory history;
  Json position;
  Kept kept;
  std::vector<Repair> repairs;
  std::vector<Thing> to_put_back;  ///< files that an earlier repair changes once more
  RedoWish wish;
  Json to_json(bool done) const;
};

/// Looks, keeps what the files hold now, and changes nothing else.  Errors: conflict (the job was not gone
/// back in, was replayed already, or still runs; an earlier repair cannot be done again), those of
/// look_back().
Result<Redo> look_on(ApiClient& api, JobId job, const RedoWish& wish);
/// Tells the repairs and submits; the exit code of sbatch.
Result<int> go_on(ApiClient& api, Redo& redo);
std::string redo_text(const Redo& redo);

/// The words of the submission: options of sickbay submit, of sbatch, then `script` and its arguments.
std::vector<std::string> words_again(const Record& record, const std::string& exclude,
                                     const std::string& nodes, const std::string& script, bool json);
/// The environment of the replay: the recorded one, changed as the position's "work" says (the values lie in
/// `objects`), and what tells sickbay-ckpt where to go on.  Errors: those of Objects::read().
Result<std::vector<std::string>> environment_again(const Record& record, const Json& position,
                                                   const Objects& objects);

}  // namespace sickbay::cli
