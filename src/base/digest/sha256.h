// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), by OpenSSL.  A library of its own, so that only who needs it links libcrypto.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace sickbay {

/// A digest of what comes in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void add(std::string_view bytes);
  /// 64 lower-case hexadecimal digits; nothing can be added any more.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The digest of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace sickbay
