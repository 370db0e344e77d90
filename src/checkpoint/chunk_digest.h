// SPDX-License-Identifier: Apache-2.0
// What names a chunk and an index: their SHA-256, as bytes.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace sickbay::checkpoint {

using Digest = std::array<std::uint8_t, 32>;

Digest digest_of(std::string_view bytes);
/// 64 lower-case hexadecimal digits.
std::string hex(const Digest& digest);
/// The reverse of hex(), or nothing.
std::optional<Digest> parse_digest(std::string_view hex);

/// For tables of digests: any eight bytes of one are random enough.
struct DigestHash {
  std::size_t operator()(const Digest& digest) const {
    std::size_t first = 0;
    std::memcpy(&first, digest.data(), sizeof first);
    return first;
  }
};

}  // namespace sickbay::checkpoint
