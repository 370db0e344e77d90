// SPDX-License-Identifier: Apache-2.0
#include "base/digest/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/result.h"

namespace sickbay {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const int made = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  SB_CHECK(made == 1 && length == 32, "SHA-256 is always there");
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (unsigned i = 0; i < length; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

}  // namespace sickbay
