// SPDX-License-Identifier: Apache-2.0
// The cleanup list: what a lab made, written down before it was made.
//
// One line per thing in LAB/cleanup, appended and never changed, so that a `kill -9` at any moment leaves at
// most a line for a thing that was never made.  undo() goes through it from the last line to the first, takes
// what is gone as done, and removes the folder (with the list in it) last.  Kinds: process, cgroup, link,
// folder.  Network devices, addresses, packet filters and mounts need no line: they live in the namespaces of
// a holder process and vanish with it.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/child.h"

namespace sickbay::lab {

struct CleanupItem {
  enum class Kind { process, cgroup, link, folder } kind;
  std::string what;  ///< a path, or the process's name for people
  Process process;   ///< of kind process
  friend bool operator==(const CleanupItem&, const CleanupItem&) = default;
};

/// "process 123 4567 holder-n1", "cgroup PATH", "link PATH", "folder PATH".
std::string print_item(const CleanupItem& item);
/// Errors: bad_input.  A last line without its newline was cut short by a crash, and is left out: what it
/// stood for had not been made.
Result<std::vector<CleanupItem>> parse_cleanup(const std::string& text);

class CleanupList {
 public:
  explicit CleanupList(std::string folder) : folder_(std::move(folder)) {}
  std::string path() const { return folder_ + "/cleanup"; }
  /// Appends one line; it is in the kernel's hands when this returns.
  Status add(const CleanupItem& item) const;
  Status add_process(const Process& process, const std::string& name) const;
  Result<std::vector<CleanupItem>> read() const;
  /// Ends, unmounts and removes everything.  Safe to repeat.  Errors name the first thing that is left, after
  /// all the others were tried.
  Status undo() const;

 private:
  std::string folder_;
};

}  // namespace sickbay::lab
