// SPDX-License-Identifier: Apache-2.0
// ProcessRunner: runs a program, as another user where asked, and gives back what it said.
//
// adapters/posix implements it.  A program runs in its own process group; on its time limit the whole group
// is killed.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "ports/early_end.h"
#include "ports/loop.h"

namespace sickbay {

struct ProcessSpec {
  std::vector<std::string> argv;  ///< argv[0] is searched in PATH of `environment`, else an absolute path
  std::vector<std::string> environment;  ///< the whole environment: nothing is inherited
  std::string folder;                    ///< working folder, entered with the rights of `as_user`; empty: "/"
  std::string input;                     ///< standard input
  std::vector<std::pair<int, std::string>>
      extra_fds;  ///< further readable descriptors: number (>= 3) and content
  struct Credentials {
    std::string user;
    std::uint32_t uid = 0, gid = 0;
  };
  std::optional<Credentials> as_user;  ///< uid, gid and the user's supplementary groups (initgroups)
  std::optional<std::uint32_t> umask;
  std::vector<std::pair<std::string, std::int64_t>>
      limits;  ///< soft rlimits by name ("NOFILE"); -1 = unlimited; over the hard limit: the hard limit
  std::chrono::milliseconds time_limit{30000};
  std::size_t output_limit =
      1 << 20;                 ///< bytes kept of each of stdout and stderr; the rest is read and dropped
  bool stop_on_flood = false;  ///< more than output_limit on stdout: the group is killed at once
  bool kill_strays = false;    ///< at its end, what it started and what has left its group is killed, too; it
                               ///< does not outlive us
  std::shared_ptr<EarlyEnd> early_end;  ///< kills the group before its time; may be null
};

struct ProcessOutcome {
  int exit_code = 0;  ///< -1 where it was killed
  int signal = 0;     ///< that killed it, else 0
  bool timed_out = false;
  bool ended_early = false;  ///< killed since its EarlyEnd was asked
  bool truncated = false;    ///< an output went over output_limit
  bool flooded = false;      ///< and it was killed for that (stop_on_flood)
  int strays = 0;            ///< processes that it left behind outside its group, killed (kill_strays)
  Micros cpu{0};             ///< of the program and of those it waited for
  std::string out, err;
};

class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  /// Starts the program.  Errors come through `done`: missing_program (not found or not executable), denied
  /// (cannot become that user, cannot enter the folder), os.  A program that ran and failed is no Error.
  virtual void run(ProcessSpec spec, Done<ProcessOutcome> done) = 0;
};

}  // namespace sickbay
