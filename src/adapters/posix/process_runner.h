// SPDX-License-Identifier: Apache-2.0
// ProcessRunner on vfork, fork and exec (process_start.h).
#pragma once
#include <memory>

#include "adapters/posix/host_groups.h"
#include "ports/process_runner.h"

namespace sickbay {

/// A runner on `loop`, which must outlive it.  On destruction every process that still runs is killed with
/// its group, and its `done` is never called.
///
/// Beyond the port: an unknown limit is bad_input, and without `umask` the program has ours.  Descriptors of
/// its own lie below 200.  Parts of PATH that are not absolute are passed over.  The time limit kills with
/// SIGKILL; a program that even then does not end (it waits in the kernel for a server that is gone) is
/// answered as timed out 10 s later and left to itself.  What a program started and left in its group is
/// killed when it ends.  run() waits for nothing: a program that does not get to its exec (its file lies on a
/// server that hangs) holds up itself alone; the user's groups are asked for on a thread, and a name
/// service that does not answer within HostGroups::kPatience is timed_out, with nothing started.
///
/// `adopt_orphans`: this process becomes the parent of what loses its parent below it
/// (PR_SET_CHILD_SUBREAPER), so that kill_strays finds those that forked twice: they are told by the variable
/// SICKBAY_FAMILY in their environment, and what removes that is left alone.  The process must then start
/// children through runners only: any other one that ends is waited for here.  Without it kill_strays
/// finds nobody.
///
/// `groups_of`: who says in which groups a user is, on other threads.
std::unique_ptr<ProcessRunner> make_process_runner(Loop& loop, bool adopt_orphans = false,
                                                   HostGroups::LookUp groups_of = HostGroups::of_host);

}  // namespace sickbay
