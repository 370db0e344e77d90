// SPDX-License-Identifier: Apache-2.0
// Processes of the lab: start, wait, end.  The one place of the lab that forks.
//
// A process is named by its pid and its start time, so that a pid which the kernel gave to somebody else is
// never signalled.  Every node (and `ctl`) has a *holder*: process 1 of the node's own namespaces.  What runs
// "inside" a node is started by a child that first enters the holder's namespaces.  Arguments are vectors and
// reach execve as they are: no shell takes part.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sickbay::lab {

/// A process that cannot be mistaken for a later one of the same pid.
struct Process {
  pid_t pid = 0;
  std::uint64_t start = 0;  ///< clock ticks after boot (field 22 of /proc/PID/stat)
  friend bool operator==(const Process&, const Process&) = default;
};

/// What stands in /proc/PID/stat, as far as the lab needs it.
struct ProcessStat {
  std::string comm;
  char state = '?';  ///< R, S, D, Z, ...
  pid_t parent = 0;
  std::uint64_t start = 0;
};

/// The stat line's fields.  The name may hold spaces and brackets; the last ')' ends it.  Pure.
std::optional<ProcessStat> parse_stat(const std::string& text);
/// /proc/PID/stat of `pid` in the caller's own /proc; nothing when there is no such process.
std::optional<ProcessStat> read_stat(pid_t pid);
/// `pid` with its start time; start 0 when it is gone already.
Process identify_process(pid_t pid);
/// Whether this very process lives; one that has ended but was not waited for (a zombie) does not.
bool alive(const Process& process);
/// Sends `signal` to this very process; true when it was there.
bool send_signal(const Process& process, int signal);
/// Waits up to `limit` until the process is gone; false when it is still there.
bool wait_gone(const Process& process, std::chrono::milliseconds limit);
/// SIGTERM, up to `patience` of waiting, SIGKILL, and waiting again (10 s).  False: it survived.
bool end_process(const Process& process, std::chrono::milliseconds patience);

/// All processes, as the host sees them, in the pid namespace of a holder, but for the holder.
/// O(processes of the host).
std::vector<Process> processes_of(const Process& holder);
/// The one that the namespace knows by this pid.
std::optional<Process> process_by_inner_pid(const Process& holder, pid_t pid);

/// What to run, where and as whom.
struct Command {
  std::vector<std::string> argv;
  std::vector<std::string> env;  ///< "NAME=value"; empty: the caller's environment
  std::string folder;            ///< working folder; empty: "/" inside a node, else the caller's
  std::string log;               ///< stdout and stderr are appended here (opened before entering)
  std::string input;             ///< text for stdin (run_to_end only)
  pid_t inside = 0;              ///< holder whose namespaces are entered; 0: the caller's own
  int spaces = 0;                ///< which of them (CLONE_NEW*); 0: all that a holder has
};

/// All namespaces that a holder has of its own.
extern const int kAllSpaces;

/// Starts a process that lives on after the caller.  Its parent is the holder, or init.
/// Errors: missing_program when execve fails, os otherwise.
Result<Process> start_process(const Command& command);

struct Outcome {
  int code = 0;        ///< exit code, or 128 + signal
  std::string output;  ///< stdout and stderr together, at most 1 MiB
};
/// Runs a command to its end and collects what it says.  Errors: timed_out (it was killed), os.
Result<Outcome> run_to_end(const Command& command, std::chrono::milliseconds limit);
/// The same, and an Error (os) quoting the output when the exit code is not 0.
Status run_well(const Command& command, std::chrono::milliseconds limit);

/// Runs `work` in a forked child that entered `spaces` of the holder, and hands its answer back.
Status run_within(pid_t holder, int spaces, const std::function<Status()>& work);
/// Enters the namespaces of `holder`, and with `groups` its cgroups of the lab, for good.  A pid namespace
/// holds for children only.
Status enter_spaces(pid_t holder, int spaces, bool groups = true);

/// Starts `work` as a process of its own session with no open files but /dev/null; its return value is the
/// exit code.  `recorded` is called with the process before `work` may begin; when it fails, or the caller
/// dies before, `work` never begins.  `new_spaces`: namespaces (CLONE_NEW*) made for it.
Result<Process> start_background(const std::string& name, int new_spaces,
                                 const std::function<Status(const Process&)>& recorded,
                                 const std::function<int()>& work);

/// Polls `condition` with growing pauses (2 to 50 ms) until it holds; false when `limit` passed first.
bool wait_until(std::chrono::milliseconds limit, const std::function<bool()>& condition);

/// The text of a small file (of /proc), empty where it cannot be read.
std::string slurp(const std::string& path);
/// The error of the system call that just failed: `doing` and errno in words.
Error os_error(const std::string& doing);
/// Where a program lies: PATH, then the sbin folders.  Error: missing_program.
Result<std::string> find_program(const std::string& name);

}  // namespace sickbay::lab
