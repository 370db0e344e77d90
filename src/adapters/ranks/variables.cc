// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/variables.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "adapters/node/tree.h"
#include "adapters/ranks/mapped.h"
#include "adapters/ranks/snapshot.h"
#include "base/fnv.h"

namespace sickbay::ranks {
namespace {

std::vector<std::pair<std::uint64_t, std::uint64_t>> places_of(pid_t pid) {
  constexpr std::uint64_t kMostVariables = 131072;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  const std::string program = program_of(pid);
  if (program.empty()) return places;
  std::uint64_t left = kMostVariables;
  std::uint64_t behind = 0;  // where a mapping of the program ended: variables that begin as zero follow
  for (const Mapped& one : mapped_by(node::Tree("/"), pid)) {
    const bool of_program = one.path == program || (one.path.empty() && one.from == behind);
    if (one.path == program) behind = one.to;
    if (!of_program || !one.writable) continue;
    const std::uint64_t size = std::min(left, one.to - one.from);
    if (size == 0) break;
    places.emplace_back(one.from, size);
    left -= size;
  }
  return places;
}

}  // namespace

std::uint64_t Variables::digest() {
  if (!std::exchange(known_, true)) places_ = places_of(pid_);
  std::uint64_t digest = kFnvBegin;
  bool any = false;
  std::array<char, 16384> block;
  for (const auto& [from, size] : places_)
    for (std::uint64_t at = 0; at < size;) {
      const iovec here{block.data(), std::min<std::uint64_t>(block.size(), size - at)};
      const iovec there{reinterpret_cast<void*>(from + at), here.iov_len};
      const ssize_t got = ::process_vm_readv(pid_, &here, 1, &there, 1, 0);
      if (got <= 0) break;
      digest = fnv64({block.data(), static_cast<std::size_t>(got)}, digest);
      at += static_cast<std::uint64_t>(got);
      any = true;
    }
  return any ? digest : 0;
}

}  // namespace sickbay::ranks
