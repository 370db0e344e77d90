// SPDX-License-Identifier: Apache-2.0
// LeaseEnd: ends this process when its lease is over, whatever its loop is doing then.
//
// A loop that stands (a disk that hangs, a long replay) does not see that its time has come; another sickbayd
// may act from then on.  So a thread of its own waits for that moment, by the clock of the lease, and ends
// the process at once: what was under way is what a crash leaves.  Source: doc/design/standby.md, "The
// lease".
#pragma once
#include <functional>
#include <thread>

#include "base/time.h"

namespace sickbay {

class LeaseEnd {
 public:
  /// `ended` is called on the thread when the time has come; it does not come back.  Errors are the kernel's
  /// lack of file descriptors, and end the process (SB_CHECK).
  explicit LeaseEnd(std::function<void()> ended);
  ~LeaseEnd();
  LeaseEnd(const LeaseEnd&) = delete;
  LeaseEnd& operator=(const LeaseEnd&) = delete;

  /// The lease ends at `until`, by boot_clock(); a later call takes the place of the one before.
  void set(Micros until);

 private:
  int timer_ = -1, stop_ = -1;
  std::function<void()> ended_;
  std::thread thread_;
};

}  // namespace sickbay
