// SPDX-License-Identifier: Apache-2.0
// What the rounds of checkpoints see of the program that runs under them, in one process of a job.
//
// The program writes its state files when it is asked, and then, by rename, its *done file*: one line, what
// the state is called.  That file is removed before asking.  As long as it is the same, the state files are.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace sickbay::ckpt {

class Watched {
 public:
  virtual ~Watched() = default;
  /// It has ended; then it stays so.
  virtual bool ended() = 0;
  /// Without a fault.  REQUIRES: ended.
  virtual bool ended_well() = 0;
  /// How often somebody has asked this process for a checkpoint, by a signal.
  virtual std::int64_t wishes() = 0;
  /// Waits so long, or until one of the two changes from what it is when this is called: an end just before
  /// it is not seen.
  virtual void pause(Micros length) = 0;
  /// Waits until it has ended.
  virtual void wait_for_end() = 0;

  /// Makes ready to ask: no done file of an earlier state is there.  False: it cannot be asked yet.
  virtual Result<bool> make_ready() = 0;
  /// Asks it.
  virtual Status ask() = 0;
  /// What the state is called that it has written since; nothing: it has not.
  virtual Result<std::optional<std::string>> written() = 0;
  /// Is all of what `written` told last still so?  Errors: conflict.
  virtual Status still_so() = 0;
};

}  // namespace sickbay::ckpt
