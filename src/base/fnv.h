// SPDX-License-Identifier: Apache-2.0
// FNV-1a (Fowler, Noll, Vo): short digests that tell texts apart and are the same on every machine.  They
// guard against nobody.
#pragma once
#include <cstdint>
#include <string_view>

namespace sickbay {

inline constexpr std::uint64_t kFnvBegin = 0xcbf29ce484222325U;

/// 64 bits.  Of bytes that come in pieces, `digest` is that of the pieces before.
constexpr std::uint64_t fnv64(std::string_view bytes, std::uint64_t digest = kFnvBegin) {
  for (const char c : bytes) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return digest;
}

/// 32 bits.
constexpr std::uint32_t fnv32(std::string_view bytes) {
  std::uint32_t digest = 0x811c9dc5U;
  for (const char c : bytes) digest = (digest ^ static_cast<unsigned char>(c)) * 0x01000193U;
  return digest;
}

}  // namespace sickbay
