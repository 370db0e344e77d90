// SPDX-License-Identifier: Apache-2.0
#include "base/digest/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/result.h"

namespace sickbay {

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const unsigned char* made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(), &length);
  SB_CHECK(made != nullptr && length == 32, "SHA-256 is always there");
  return {reinterpret_cast<const char*>(digest.data()), length};
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string seal(std::string_view body, std::string_view key) {
  std::string sealed(body);
  sealed += std::string_view(hmac_sha256(key, body)).substr(0, kSealBytes);
  return sealed;
}

std::optional<std::string_view> open_seal(std::string_view sealed, std::string_view key) {
  if (sealed.size() < kSealBytes) return std::nullopt;
  const std::string_view body = sealed.substr(0, sealed.size() - kSealBytes);
  const std::string right = hmac_sha256(key, body);
  if (!same_secret(sealed.substr(body.size()), std::string_view(right).substr(0, kSealBytes)))
    return std::nullopt;
  return body;
}

}  // namespace sickbay
