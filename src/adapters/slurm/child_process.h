// SPDX-License-Identifier: Apache-2.0
// The running sickbay-slurm: a process, a socket, and its last words.
//
// One object per start.  It sends frames, gives back frames, and says once that the child is gone; what that
// means for the calls under way is slurm_manager's business.  The child is killed with this object, dies with
// this process (PR_SET_PDEATHSIG in the child), and ends by itself when the socket closes.
#pragma once
#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adapters/slurm/protocol.h"
#include "ports/lifetime.h"
#include "ports/loop.h"

namespace sickbay::slurm {

class ChildProcess {
 public:
  struct Events {
    std::function<void(Json)> on_frame;
    std::function<void(std::string why)> on_gone;       ///< once; not after the object is destroyed
    std::function<void(std::string_view line)> on_log;  ///< a line that libslurm wrote to stderr
  };

  /// Starts `path` with `environment` and nothing else of ours: stdin and stdout are /dev/null, stderr is
  /// read, descriptor 3 is the socket.  Errors: missing_program, os.
  static Result<std::unique_ptr<ChildProcess>> start(Loop& loop, const std::string& path,
                                                     const std::vector<std::string>& environment,
                                                     Events events);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Sends one frame.  The child reads whenever it is not in a call, and only one call is under way, so the
  /// bytes go at once; a child that does not take them within a second has hung.  Errors: os;
  /// slurm_away when it has ended (it took nothing then), because of its last words.
  Status send(const Json& json);
  pid_t pid() const { return pid_; }
  /// The last lines of its stderr: why it ended, in libslurm's words.
  std::string last_words() const;

 private:
  ChildProcess(Loop& loop, pid_t pid, int socket, int log, Events events);
  void read_socket();
  void read_log();
  void take_log_lines();
  /// What an ended child wrote last may still be in the pipe.
  void take_last_words();
  void end(std::string why);

  Loop& loop_;
  pid_t pid_;
  int socket_, log_;
  Events events_;
  FrameReader reader_;
  std::string log_rest_;
  std::deque<std::string> log_lines_;
  bool gone_ = false;
  Lifetime lifetime_;
};

}  // namespace sickbay::slurm
