// SPDX-License-Identifier: Apache-2.0
// A whole lab: up, down, status, and running a command in it.
//
// `up` writes each thing to the cleanup list before it makes it; when a step fails it tells which daemon and
// what its log says, and takes everything down again.  `down` needs nothing but the list.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lab/faults.h"
#include "lab/layout.h"

namespace sickbay::lab {

/// Told what is being done, for people who wait.
using Progress = std::function<void(const std::string&)>;

/// Starts a lab and waits until all its nodes are idle.  Its machines see the folders of this program, too.
/// Errors: not_root, missing_program, already_exists, usage, and those of the step that failed.
Result<Layout> bring_up(const Wishes& wishes, const Progress& tell);
/// Takes a lab down, whatever state it is in.  Without a lab of that name it does nothing.
Status take_down(const std::string& name, const std::string& folder);

struct ServiceState {
  std::string machine, service;
  bool alive = false;
};
struct LabState {
  Layout layout;
  bool running = false;                ///< the holders live
  std::vector<ServiceState> services;  ///< all that were started
  std::vector<std::string> nodes;      ///< "n1 idle", as sinfo says; empty while slurmctld is away
  std::vector<ActiveFault> faults;     ///< active ones, one line each
};
Result<LabState> look_at(const std::string& name, const std::string& folder);

/// The exclusive right to change a lab; other commands wait up to 60 s for it.  Released with the object.
class LabLock {
 public:
  static Result<LabLock> take(const std::string& folder);
  LabLock(LabLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  LabLock& operator=(LabLock&&) = delete;
  ~LabLock();

 private:
  explicit LabLock(int fd) : fd_(fd) {}
  int fd_;
};

/// Runs a program on a machine ("ctl", "n3") as `user` ("" is root) with the lab's environment on top of the
/// caller's, and hands its exit code back (128 + signal when one ended it).  The working folder stays where
/// the user may enter it there, else it is LAB/home/USER.
Result<int> execute(const Layout& layout, const std::string& machine, const std::string& user,
                    const std::vector<std::string>& argv);

/// Error not_root unless the caller is root.
Status need_root(const std::string& doing);

}  // namespace sickbay::lab
