// SPDX-License-Identifier: Apache-2.0
// ProcessStart: one program from its ProcessSpec to its exec.
//
// A child is made in one of two ways.  fork() copies the page tables of this process: in a daemon that costs
// some ten milliseconds of its processor, most of it afterwards, when each page that is written to must be
// copied or taken back.  Under vfork(2) the child borrows our memory until its exec, which costs next to
// nothing, but the thread that started it stands meanwhile: for ever where the program lies on a server that
// hangs.  So that is done on a thread that nobody waits for.  Who becomes another user, or is to die with
// us, is forked: glibc changes the user of all threads of what it takes for its process, and the kernel sends
// the signal when the thread that started a program ends.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/posix/strays.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "ports/process_runner.h"

namespace sickbay {

/// Whether it runs as another user than we do.
bool becomes_another(const ProcessSpec& spec);

class ProcessStart {
 public:
  /// Our ends: what it says, what it complains of, and why it was never reached.
  enum Pipe { out_pipe, err_pipe, report_pipe, pipe_count };

  /// All that is needed, made beforehand.  `groups`: of the user that it becomes.  Errors: bad_input (no such
  /// limit), internal, os.
  static Result<std::shared_ptr<ProcessStart>> of(ProcessSpec spec, std::vector<gid_t> groups);

  /// vfork() may be used.
  bool may_borrow_memory() const;
  /// Makes the child.  `borrow`: by vfork(), which may block until kill(); on any thread.  Errors: os.
  Status begin(bool borrow);
  /// Kills it and its group, also where it is begun only later.  On any thread.
  void kill();
  /// kill(); nobody will wait for it.
  void abandon();

  pid_t pid() const { return child_.pid(); }
  /// It has been waited for: its number may be another process's.
  void collected() { child_.set(0); }
  /// Readable when it has ended; none: taken already.
  Descriptor take_pidfd() { return std::move(pidfd_); }
  Descriptor take_pipe(Pipe pipe) { return std::move(ours_[pipe]); }
  /// What came through report_pipe, where exec was never reached.
  std::optional<Error> failure(std::string_view report) const;
  /// Bytes of a whole report: less than that is none.
  static const std::size_t kReport;

  ProcessStart(const ProcessStart&) = delete;
  ProcessStart& operator=(const ProcessStart&) = delete;

 private:
  explicit ProcessStart(ProcessSpec spec) : spec_(std::move(spec)) {}
  Status plan(std::vector<gid_t> groups);
  bool give(int number, const std::string& bytes);
  Status follow(pid_t pid);
  void kill_now();  // with mutex_ held
  [[noreturn]] void become();
  Error broken(std::string_view doing) const;
  /// A descriptor for the child, out of the way of the numbers that it gives out; -1 and errno.
  int keep_for_child(Descriptor fd);

  const ProcessSpec spec_;
  // What the child uses, in a form that needs no allocation.
  std::vector<std::string> programs_;  // where it may lie, in order
  std::vector<char*> argv_, environment_;
  std::vector<gid_t> groups_;
  std::vector<std::pair<int, rlimit>> limits_;
  std::vector<std::pair<int, int>> places_;  // descriptor here -> number there, ascending there
  int report_ = -1;
  pid_t parent_ = -1;

  std::vector<Descriptor> theirs_;  // descriptors that are the child's alone
  std::array<Descriptor, pipe_count> ours_;
  Descriptor pidfd_;
  OwnChild child_;
  std::mutex mutex_;  // begin() on its thread, kill() on another
  std::atomic<bool> killed_ = false, abandoned_ = false;
};

}  // namespace sickbay
