// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chunk_digest.h"

#include "base/digest/sha256.h"
#include "base/result.h"

namespace sickbay::checkpoint {
namespace {

int value_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

std::optional<Digest> parse_digest(std::string_view hex) {
  Digest digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = value_of(hex[2 * i]), low = value_of(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

Digest digest_of(std::string_view bytes) {
  const auto digest = parse_digest(sha256_hex(bytes));
  SB_CHECK(digest, "a digest in hex is one");
  return *digest;
}

std::string hex(const Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace sickbay::checkpoint
