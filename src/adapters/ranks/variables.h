// SPDX-License-Identifier: Apache-2.0
// The static variables of a process: who counts its steps there goes on, although its stack looks the same
// each time.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace sickbay::ranks {

class Variables {
 public:
  explicit Variables(pid_t pid) : pid_(pid) {}

  /// Digest of the variables of the process's program (its own, no library's), the first 128 KiB of them.  0
  /// where they cannot be read.  Where they lie is looked up by the first call: the list of what is mapped
  /// takes several times longer to read than they do.  (Of another program that the process has begun since
  /// it may be any number.)
  std::uint64_t digest();

 private:
  pid_t pid_;
  bool known_ = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places_;  ///< address, bytes
};

}  // namespace sickbay::ranks
