// SPDX-License-Identifier: Apache-2.0
// The history of a job: what was done to it, as a tree that can be gone back in.
//
// Each job of `sickbay submit` has a part of a tree: its submission, its starts and ends as Slurm tells them,
// its checkpoints, what Sickbay did to its nodes, and what its owner did about it: rewound, repaired.  To
// rewind is to go on from an earlier operation; what came after it stays, on a branch of its own.  A replay
// is a new job whose part hangs under the operation that it was submitted from.  Nothing is ever taken out
// of a history by going back.
//
//     1 submitted
//     2 started
//     3 checkpoint 1
//     |-- 4 checkpoint 2
//     |   5 ended FAILED
//     `-- 6 rewound to checkpoint 1
//         7 repaired input.dat
//         `-- job 31: 1 submitted ...
//
// An operation is named by its job and its number there, "17.4", which no later operation changes.  What a
// person may undo of it, and what he would get, stands in plan.h, what failures cost in account.h, and what
// can be undone of what operators did in inverses.h.
//
// apply() alone: the engine wants nothing of its own, it remembers.  No I/O, no clock.
// Source: doc/design/undo.md.
#pragma once
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "engine/history/told.h"
#include "model/event.h"
#include "model/ids.h"
#include "model/job.h"

namespace sickbay::history {

/// Names the engine.
inline constexpr std::string_view kName = "history";

/// Of one job: then the oldest checkpoints that nothing hangs on are left out.
inline constexpr std::size_t kMostOperations = 1000;
/// Acts of Sickbay that are remembered of one subject (a node, say): the last ones.
inline constexpr std::size_t kMostActs = 8;

enum class What : std::uint8_t {
  submitted,
  started,
  requeued,
  ended,
  lost,  ///< neither slurmctld nor the accounting knows it any more
  checkpoint,
  checkpoint_failed,
  restored,
  repaired,
  rewound,
  operated,  ///< Sickbay did something to one of its nodes
};
inline constexpr std::size_t kWhats = static_cast<std::size_t>(What::operated) + 1;
std::string_view to_string(What what);

/// "17.4": the fourth operation of job 17; of no job: none.
struct OpRef {
  static constexpr int kFields = 2;  ///< base/state_archive.h
  JobId job = 0;
  int n = 0;
  explicit operator bool() const { return job != 0; }
  std::string text() const;  ///< "" for none
  friend auto operator<=>(const OpRef&, const OpRef&) = default;
};
/// Errors: bad_input.
Result<OpRef> parse_op(std::string_view text);

/// What a run is made from: by key ("file:/home/alice/in.dat", "environment:OMP_NUM_THREADS", "script",
/// "arguments", "exclude") the digest of the content, or for the last two the value itself; "": there is
/// none.
using Work = std::map<std::string, std::string>;
Json work_json(const Work& work);
Work work_from(const Json& json);

/// One thing that a person changed.
struct Change {
  static constexpr int kFields = 4;  ///< base/state_archive.h
  std::string key, from, to;
  std::string diff{};  ///< for people; cut short
  Json to_json() const;
  static Change from_json(const Json& json);
  friend bool operator==(const Change&, const Change&) = default;
};
std::vector<Change> changes_from(const Json& list);
Json changes_json(const std::vector<Change>& changes);

struct Operation {
  static constexpr int kFields = 21;  ///< base/state_archive.h
  int n = 1;
  OpRef parent;  ///< none: the first of a job that was no replay
  What what = What::submitted;
  TimePoint at = kNoTime;    ///< when it was told
  TimePoint when = kNoTime;  ///< Slurm's time of a start or an end; where it says none, `at`
  std::uint32_t restart = 0;
  std::string by;     ///< who, of what people did
  std::string state;  ///< of an end; of what Sickbay did its verb
  int exit_code = 0, exit_signal = 0;
  std::string nodes;            ///< of a start: hostlist; of what Sickbay did: the node
  std::string text;             ///< for people
  Told told;                    ///< of a checkpoint, or of going on from one
  std::vector<Change> changes;  ///< of a repair
  // Of a rewind:
  OpRef to;                 ///< the operation that was gone back to, which is its parent
  std::string did;          ///< "rewind", "drop", "edit", "insert"
  OpRef of;                 ///< the operation that was dropped, edited, or inserted before
  int checkpoint = 0;       ///< where a replay goes on; 0: from the beginning
  Work work;                ///< what a replay is made from
  std::vector<OpRef> rest;  ///< repairs that a replay does once more
  bool dropped = false;     ///< of a checkpoint: it is not gone back to any more
};

/// One job's part of the tree.
struct Part {
  static constexpr int kFields = 21;  ///< base/state_archive.h
  std::int64_t case_no = 0;
  JobId job = 0;
  Owner owner;
  OpRef base;  ///< of a replay: the operation that it goes on from
  int base_checkpoint = 0;
  // The submission.
  std::string script_name, work_dir, script_digest, environment_digest;
  std::vector<std::string> arguments, sbatch_options;
  Work inputs;            ///< declared files with their digests
  bool recorded = false;  ///< its owner keeps what a replay needs
  std::map<int, Operation> operations;
  int last = 0;  ///< number of the last operation
  int tip = 0;   ///< the last one that was told of the job itself
  std::uint32_t restart = 0;
  bool running = false, ended = false;
  std::vector<std::string> nodes;  ///< while it runs
  std::int64_t left_out = 0;       ///< operations for which there was no room

  OpRef ref(int n) const { return {job, n}; }
};

/// Something that Sickbay did to the cluster, by its key ("d5"), or that people asked of it ("spares:batch").
struct Act {
  static constexpr int kFields = 8;  ///< base/state_archive.h
  std::string name, verb, subject, by;
  TimePoint at = kNoTime;
  std::vector<std::string> nodes;
  Json before;  ///< what an inverse needs: the count of spares before, say
  Json now;
};

struct State {
  static constexpr int kFields = 7;    ///< base/state_archive.h
  std::map<std::int64_t, Part> parts;  ///< by the number of the case
  std::map<JobId, std::int64_t> by_job;
  std::map<std::int64_t, Json> opened;  ///< what was submitted, of cases that have no job yet
  std::set<std::int64_t> running;
  /// Job -> cases whose part hangs under an operation of it, or has gone on from one.  Derived; the canonical
  /// text leaves it out.
  std::map<JobId, std::set<std::int64_t>> leaning;
  std::map<std::string, std::deque<Act>> acts;  ///< by subject, oldest first
  struct Intent {
    static constexpr int kFields = 3;  ///< base/state_archive.h
    std::string verb, subject;
    std::vector<std::string> nodes;
  };
  std::map<std::string, Intent> intents;  ///< by key, of verbs that change something, until their end
};

/// Total: unknown kinds and subjects are ignored.
void apply(State& state, const Event& event);

/// The part of a job, or null.
const Part* part_of(const State& state, JobId job);
const Operation* operation(const State& state, const OpRef& ref);
/// From the first operation to this one, by way of what each goes on from.
std::vector<OpRef> path_to(const State& state, const OpRef& ref);
/// All parts of the tree that a job is in: the oldest that is still kept first, then what hangs under it.
std::vector<const Part*> tree_of(const State& state, const Part& part);
/// Where the tree stands after the last rewind or repair of a person; none: nobody went back.
OpRef position_of(const State& state, const Part& part);
/// The checkpoint of that number as job `part` would find it: on its way here, else anywhere in the tree, the
/// latest; none: there is none, or it was dropped.
OpRef find_checkpoint(const State& state, const Part& part, int number);

/// The tree of a job, for people and programs (doc/formats/api.md).
Json history_view(const State& state, const Part& part);

/// Everything that a replay must bring back, as text.
std::string canonical_text(const State& state);

// Words of the journal (doc/formats/journal.md), all of c17.
inline constexpr std::string_view kCheckpointTold = "checkpoint_told";  ///< {job, restart, checkpoint, ...}
inline constexpr std::string_view kRewound = "rewound";                 ///< {by, to, did, of, work, ...}
inline constexpr std::string_view kRepaired = "repaired";               ///< {by, changes}
inline constexpr std::string_view kOperationDropped = "operation_dropped";  ///< {by, op}: of a checkpoint

}  // namespace sickbay::history
