// SPDX-License-Identifier: Apache-2.0
// What sickbay-folder is asked to do, as JSON, and what it answers.
//
// It is a process of the case's owner, started by sickbayd (service/verbs/folder_verbs.cc), for what must be
// done with a user's files and with no more rights than his: is the input what it was, how large is the
// folder, a copy of it, and its end.
//   {"do": "prepare", "how": "copy"|"same", "from": folder, "to": folder, "inputs": [{path, digest, size,
//   mtime, program}], "ran": [{from, to}], "max_bytes": n, "max_files": n, "mark": {case, run, opened}}
//     -> {"folder", "bytes", "files", "left_out", "pipes", "unreadable", "links_out", "first": {links_out,
//         unreadable, left_out}, "changed": [{path, how, mtime}], "noted": [{path, how, mtime}], "too_large",
//         "why"}
//   "links_out" are the links by which a run in the copy can write to something outside of it; "pipes" those
//   of "left_out" that nobody misses (FIFOs, sockets); "first" names one of each.
//   What the user changed ("changed") keeps a run away.  What a run of the job did within its time ("ran"),
//   and a file that is gone and no program, does not ("noted", by_run and gone): it is how the first run left
//   it.
//   {"do": "clean", "folders": [folder], "mark": {case, opened}} -> {"removed": entries, "kept": [folder]}
//   -> {"error": {"code", "what"}} of either
// Either may be asked again: a copy that is there is whole (it gets its name last), and is taken, where it
// has the mark of the order.  What has another mark, or none, is somebody else's: it is neither used nor
// removed, and the copy gets another name ("to" with .1, .2 ...).  An order without a mark is of an older
// version.
#pragma once
#include <chrono>

#include "base/json.h"

namespace sickbay {

struct FolderLimits {
  std::chrono::seconds measure{30}, copy{480}, clean{240};
};

/// Total: what is wrong stands in the answer.
Json do_folder_order(const Json& order, const FolderLimits& limits = {});

}  // namespace sickbay
