// SPDX-License-Identifier: Apache-2.0
// SrunMessage: what srun and slurmstepd say on standard error about tasks and nodes.
//
// These lines are the only place where Slurm tells which node a task died on, and how.  They are written for
// people; the forms read here are those of 22.05 to 25.11, and a line of no known form is no message.
// Readers: verify_report.h and fingerprint.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sickbay {

struct SrunMessage {
  enum class Kind : std::uint8_t {
    task_signal,    ///< tasks died of signal `number` on `nodes`
    task_exit,      ///< tasks ended with exit code `number` on `nodes`
    task_oom,       ///< tasks were killed for their memory on `nodes`
    launch_failed,  ///< no task could be started on `nodes`
    node_failure,   ///< `nodes` failed while the step ran
    cannot_exec,    ///< the program could not be executed (not found, no right); nodes empty
    oom_kill,       ///< the kernel killed for memory; nodes empty
    time_limit,     ///< the step or job was ended at its limit; nodes empty
    lost_node,      ///< the step or job was ended because a node failed; which one is not said
    cancelled,      ///< the step or job was ended by somebody; nodes empty
    refused,        ///< srun could not make the step
  };
  Kind kind = Kind::cancelled;
  std::vector<std::string> nodes;
  std::vector<int> tasks;  ///< ranks, for the task_... kinds
  int number = 0;
  std::string text;  ///< what stands after the names: "Bus error", "Communication connection failure"
};

/// The message in `line` (without its line end), or nothing.  Total.
///
/// A message that names more than `most` nodes or tasks is none: the text is a user's, and a line of thirty
/// bytes can name a million nodes.  Pass what the reader can use at most.
std::optional<SrunMessage> read_srun_message(std::string_view line, std::size_t most = 4096);

/// Words of a launch_failed that say no more than that `nodes` were not reached from where srun ran: the
/// fault may lie at either end or between them.  Any other words are those of the far slurmd, which was
/// reached.
bool says_unreached(std::string_view text);
/// A signal by the C library's words ("Bus error"), also with " (core dumped)" after them; 0 when unknown.
int signal_of_words(std::string_view words);
/// "SIGBUS", or "signal 42" where it has no name here.
std::string signal_name(int number);
/// A signal that a program brings upon itself (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, ...), unlike the
/// SIGKILL and SIGTERM with which others are swept away after it.
bool is_own_fault(int signal);

}  // namespace sickbay
