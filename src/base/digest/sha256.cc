// SPDX-License-Identifier: Apache-2.0
#include "base/digest/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <new>

#include "base/result.h"

namespace sickbay {

namespace {

std::string hex_of(const unsigned char* digest, unsigned length) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(std::size_t{2} * length);
  for (unsigned i = 0; i < length; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  // SHA-256 is always there, so what OpenSSL lacks is memory.  It is told as such: this is in users'
  // programs, too (libckpt), which go on without a checkpoint.
  const bool begun =
      state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1;
  if (!begun) throw std::bad_alloc();
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  SB_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1, "not ended yet");
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const int made = EVP_DigestFinal_ex(state_->context, digest.data(), &length);
  SB_CHECK(made == 1 && length == 32, "SHA-256 is always there");
  return hex_of(digest.data(), length);
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

}  // namespace sickbay
