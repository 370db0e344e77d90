// SPDX-License-Identifier: Apache-2.0
// How much of the heap is held: for tests and benchmarks of what grows.
#pragma once
#include <malloc.h>

#include <cstddef>

namespace sickbay {

/// Bytes that this process has been given and has not given back.  What is free between them, or was given
/// back and is still the process's, does not count, as it does in what is resident.
inline std::size_t held_bytes() {
  const auto heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

}  // namespace sickbay
