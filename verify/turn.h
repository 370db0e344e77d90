// SPDX-License-Identifier: Apache-2.0
// Turn: ranks that share one kernel take turns to measure.
//
// On a cluster a node runs one rank and never waits here.  In the lab all nodes share the processors of one
// machine, and where a site starts several ranks on a node they share memory channels: measured at the same
// time they would find each other.  The turn is an flock on the folder /dev/shm, which is local to each
// kernel, exists everywhere, and is released by the kernel when its holder dies.
#pragma once

namespace sickbay::verify {

class Turn {
 public:
  /// Waits for the turn, at most `seconds`; after that the measurement goes on without it, and so do all
  /// later ones.
  explicit Turn(double seconds);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  int folder_ = -1;
};

}  // namespace sickbay::verify
