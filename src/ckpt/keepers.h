// SPDX-License-Identifier: Apache-2.0
// What the keepers of a job (`sickbay-ckpt keep`, one on each node) tell each other on the board, in
// board/keep: where each listens, whose packs it has, and the secret by which they know each other.
//
// A keeper has, in its own fast place, what one other node has in its: its partner, chosen so that both do
// not fail together where the topology is known.  What it has lies as if it were its own node's, so a process
// that is started there finds it without asking.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ckpt/participant.h"
#include "ckpt/series.h"

namespace sickbay::ckpt {

struct Keeper {
  std::string node;
  std::string domain;   ///< what it fails together with
  std::string address;  ///< in numbers
  std::int64_t port = 0;
  JobId in_job = 0;
  std::int64_t restart = 0;
  friend bool operator==(const Keeper&, const Keeper&) = default;
};

/// board/keep, made where it is not there.
Result<std::string> keep_folder(const Series& series);

/// Where `keeper` listens from now on.  Errors: usage: a node whose name is no file's; as Files.
Status announce(const Series& series, const Keeper& keeper);
void retract(const Series& series, const std::string& node);
/// Those that are announced, by node, also of earlier starts of the job.  A file that is none is let be.
std::vector<Keeper> keepers(const Series& series);
/// Whose packs `own` has to keep, of a checkpoint that was taken on `nodes`: of the keepers of the same start
/// of the job that are there.  (What a keeper that died has announced stays on the board, and its node is
/// none of the program's any more.)  Where the program is on one node, any other keeper has its packs.  "":
/// it is alone.
std::string kept_for(const Series& series, const Keeper& own, const std::set<std::string>& nodes);

/// The keepers that `own` keeps parity with, itself among them, by node: a group of at most `most`, of the
/// nodes of the program, chosen so that they do not fail together (checkpoint/groups.h).  All nodes must have
/// a keeper of this start: what a group of fewer would keep has no room for what a lost one had.
/// Errors: not_found: a node has none; usage: the program is on one node; none where `own` is not of it.
Result<std::vector<Keeper>> parity_group(const Series& series, const Keeper& own,
                                         const std::set<std::string>& nodes, std::size_t most);
/// `node` and the others of its group have the parity of checkpoint `number`.
Status note_group(const Series& series, const std::string& node, const std::vector<Keeper>& group,
                  std::int64_t number);
/// The nodes of the group that `node` was in at last, by name; empty: there is none.
std::vector<std::string> group_of(const Series& series, const std::string& node);

/// `by` has all packs of `node` of checkpoint `number`.
Status note_kept(const Series& series, const std::string& node, const std::string& by, std::int64_t number);
/// Who has; "": nobody.
std::string kept_by(const Series& series, const std::string& node);

/// 256 random bits in hex.  Errors: os.
Result<std::string> random_hex();
/// The secret; where there is none it is made, with `make`, else not_found.  Errors: denied: the file is
/// another user's or others may read it.
Result<std::string> keep_secret(const Series& series, bool make);

}  // namespace sickbay::ckpt
