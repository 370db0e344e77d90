// SPDX-License-Identifier: Apache-2.0
// A folder with all below it: measured, copied and removed, each within bounds.
//
// It runs with its owner's rights and touches no file outside of the folder: every step is by a descriptor of
// the folder before (openat), no link is ever followed, no other file system entered.  What is no file,
// folder or link (FIFOs, sockets, devices) is left out and counted, and so is what the owner may not read.
// Folders named sickbay-cN and .sickbay are ours and left out.  Links into the folder come to point into the
// copy, links that would be broken by their new place are made absolute.  The mark of a copy (copy_mark.h) is
// no part of the folder.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace sickbay {

struct TreeBounds {
  std::uint64_t bytes = 0, files = 0;
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
};

/// What was met.  `files` are all entries, links and folders included; bytes are those on the disk: of a
/// sparse file what it has, of one with many names once.
struct TreeSize {
  std::uint64_t bytes = 0, files = 0;
  std::uint64_t left_out = 0;  ///< FIFOs, sockets, devices, other file systems
  std::uint64_t pipes = 0;     ///< of these, FIFOs and sockets: a program that needs one makes it
  std::uint64_t unreadable = 0;
  /// Of a copy: links through which its run can write to something outside of the folder.
  std::uint64_t links_out = 0;
  std::string first_unreadable, first_left_out, first_link_out;
  bool over = false;  ///< a bound of bytes or files was met, and nothing more looked at
  bool time_over = false;
};

/// Errors: not_found, denied (the folder itself).
Result<TreeSize> measure_tree(const std::string& folder, const TreeBounds& bounds);

/// Copies `from` to the new folder `to`, whose parent is there; modes without set-id bits, times kept, holes
/// stay holes, blocks are shared where the file system can (FICLONE).  Where it fails or a bound is met the
/// copy is removed again.  The copy gets `mark` before anything else, where that is not null.  Errors:
/// not_found, denied, storage_full, timed_out, conflict (`to` is there, or a bound was met), os.
Result<TreeSize> copy_tree(const std::string& from, const std::string& to, const TreeBounds& bounds,
                           const Json& mark = {});

/// Removes a folder; one that is not there is none.  The number of entries removed.  Errors: timed_out,
/// denied, bad_input (no folder, as a link is none), os.
Result<std::uint64_t> remove_tree(const std::string& folder, std::chrono::steady_clock::time_point until);

}  // namespace sickbay
