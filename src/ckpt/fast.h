// SPDX-License-Identifier: Apache-2.0
// The fast place of a node: a folder in its memory (tmpfs) or on its own disk, to which a process saves
// first.
//
//   FOLDER/4711-0123456789abcdef/r3/   a store of process 3 of that series, for it alone: no other process
//                                      writes there, so nothing has to be agreed upon
//   .../r3/job.json                    whose it is
//   .../r3/lock.use                    held while a process of the series lives
//
// What lies there is a copy that may be lost at any time.  Nothing in it is believed: the control file of the
// series names each pack by its digest.  The folder is the user's own and nobody else may look into it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/files.h"
#include "checkpoint/store.h"
#include "ckpt/participant.h"

namespace sickbay::ckpt {

/// The lock that a process of the series holds as long as it lives.
inline constexpr const char* kFastUse = "lock.use";

/// What SICKBAY_CHECKPOINT_FAST says.
struct FastWish {
  std::string folder;                  ///< absolute; with %N and its like, as fill_in has them
  std::optional<std::uint64_t> bytes;  ///< of all processes on a node; none: half of the file system
};
/// FOLDER[:BYTES], bytes as "4G"; "" is none.  Errors: usage: no absolute folder, no size.
Result<std::optional<FastWish>> parse_fast(const std::string& text);

/// The fast place as one process has it.
struct Fast {
  checkpoint::Store store;
  std::string folder;                           ///< that of all series
  std::uint64_t most = 0;                       ///< bytes that this process may have in `store`
  std::shared_ptr<checkpoint::FileLock> use{};  ///< null where another process of this rank holds it
};

/// Makes what is not there.  `series` is the folder of the store on shared storage.  `uses`: lives as long as
/// its program does, so that nobody takes its job for gone.
/// Errors: denied: the folder is another user's, or none; as Files.
Result<Fast> open_fast(checkpoint::Files& files, const FastWish& wish, const std::string& series,
                       const Participant& me, bool uses);

/// Where process `rank` of the series has its store on the node of `me`; nothing is made.  Errors: as
/// fill_in.
Result<std::string> fast_store(const FastWish& wish, const std::string& series, const Participant& me,
                               std::int64_t rank);

/// A folder NAME beside the stores of the series, for what is of the whole node; swept with them.  Gives its
/// path.  Errors: as open_fast.
Result<std::string> folder_in_fast(checkpoint::Files& files, const FastWish& wish, const std::string& series,
                                   const Participant& me, const std::string& name);

/// What a fast place needs to save the next one beside this one and to know what is old: a control file of
/// one process's image alone.  Without it the next one is full.
Status note_in_fast(checkpoint::Store& store, const Participant& me, std::int64_t number, TimePoint at,
                    const checkpoint::Image& image);

/// Removes what stands there of checkpoints from `number` on: of a series that had the same name.
Status drop_from(checkpoint::Files& files, const checkpoint::Store& store, std::int64_t number);

/// Is a job gone for good?  False, too, where nobody knows.
using JobIsGone = std::function<bool(JobId)>;
/// Removes what earlier jobs of this user left in the fast place: of those that no process here uses and that
/// are gone.  (By the time limit alone nobody would know: it may have been raised.)  Gives the folders that
/// went.
std::vector<std::string> sweep_fast(checkpoint::Files& files, const Fast& fast, const Participant& me,
                                    const JobIsGone& is_gone);

}  // namespace sickbay::ckpt
