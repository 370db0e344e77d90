// SPDX-License-Identifier: Apache-2.0
// The checkpoints of one job, of one name, on storage that all its processes see: a store, and beside it the
// board by which the processes agree.
//
//   FOLDER/4711/            the store (doc/formats/checkpoint.md); of the name "sim": FOLDER/4711.sim
//   FOLDER/4711/board/      what processes tell each other, and series.json, which rank 0 alone writes
//   FOLDER/4711/board/fast/ control files of checkpoints whose packs lie in the fast places of their nodes
//
// A checkpoint exists when its control file is in the store or in board/fast; the latter ends once it, or a
// newer one, is in the store (flush.h).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "checkpoint/files.h"
#include "checkpoint/store.h"
#include "ckpt/fast.h"
#include "ckpt/participant.h"

namespace sickbay::ckpt {

struct Series {
  checkpoint::Files* files = nullptr;
  checkpoint::Store store;
  std::string board;           ///< folder
  checkpoint::Store noted;     ///< board/fast: control files and no packs
  std::optional<Fast> fast{};  ///< this process's fast place, where one was opened
  /// Checkpoints are flushed (flush.h), also where this process has no fast place: nothing else removes any.
  bool flushes = false;
  /// Brings what this process lacks of a checkpoint to its fast place, from another node.  May be null.
  std::function<Status(std::int64_t number)> fetch{};

  /// Opens it and makes its folders.  Errors: usage: a name that cannot be; as Store::open.
  static Result<Series> open(checkpoint::Files& files, const std::string& root, JobId job,
                             const std::string& name);
  /// From now on with a fast place.  Errors: those of open_fast; this process then does without.
  Status use_fast(const FastWish& wish, const Participant& me, bool uses);
};

/// All that exist, by number, wherever their packs lie; one that is in both places is the store's.  Errors:
/// as Store::list.
Result<std::vector<checkpoint::Listed>> list_all(const Series& series);
/// The greatest number among those that have a control file; 0: none has.
std::int64_t newest_of(const std::vector<checkpoint::Listed>& listed);
/// The control file, of the store, else of board/fast.  Errors: as Store::read_control.
Result<checkpoint::Control> find_control(const Series& series, std::int64_t number);

/// series.json: what is known from one checkpoint to the next.
struct SeriesState {
  std::int64_t last = 0;         ///< the highest number that was ever begun
  std::int64_t tip = 0;          ///< the checkpoint that the job went on from, or took last; 0: none
  std::int64_t tip_job = 0;      ///< that did so; a replay does it in the series of another job
  std::int64_t tip_restart = 0;  ///< the start of the job in which it did so
  std::vector<std::int64_t>
      costs_ms{};             ///< of the last checkpoints, newest last: from the question to the end
  std::int64_t begun_us = 0;  ///< when the state was asked for of the last one that was taken
  std::int64_t leaving_done_us =
      0;                    ///< the last wish of a node that is leaving (leaving.h) that was answered
  std::string asked_done;   ///< token of the wish (ask.h) that was answered last
  std::string asked_error;  ///< why there is no checkpoint for it; "": there is one
  friend bool operator==(const SeriesState&, const SeriesState&) = default;
};
/// One that is not there or damaged is an empty one: it only makes checkpoints cheaper.
SeriesState read_state(const Series& series);
Status write_state(const Series& series, const SeriesState& state);
/// Adds what one cost; the oldest go.
void add_cost(SeriesState& state, Micros cost);
/// The middle of the last ones.
std::optional<Micros> usual_cost(const SeriesState& state);

}  // namespace sickbay::ckpt
