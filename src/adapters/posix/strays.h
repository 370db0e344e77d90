// SPDX-License-Identifier: Apache-2.0
// Strays: processes that a program left behind outside its process group (fork twice, setsid).
#pragma once
#include <sys/types.h>

#include <atomic>
#include <string>
#include <string_view>

namespace sickbay {

inline constexpr std::string_view kFamilyVariable = "SICKBAY_FAMILY=";

/// Makes this process the parent of all below it that lose theirs.  False where the kernel does not.
bool adopt_strays();

/// A child that somebody in this process waits for: kill_strays() leaves it to him.  Who makes a child on
/// another thread, or lets it borrow our memory, has it set by the child itself: one that has ended, and that
/// kill_strays() might wait for, is then known for certain.
class OwnChild {
 public:
  OwnChild();
  OwnChild(const OwnChild&) = delete;
  OwnChild& operator=(const OwnChild&) = delete;
  ~OwnChild();
  void set(pid_t pid) { pid_ = pid; }  ///< 0: there is none
  pid_t pid() const { return pid_; }

 private:
  std::atomic<pid_t> pid_ = 0;
};

/// Kills every child of this process with `family` ("SICKBAY_FAMILY=...") in its environment, and theirs,
/// until there is none, for 100 ms at most; waits for all dead children that are nobody's.  How many were
/// killed.
int kill_strays(const std::string& family);

}  // namespace sickbay
