// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), by OpenSSL.  A library of its own, so that only who needs it links libcrypto.
#pragma once
#include <string>
#include <string_view>

namespace sickbay {

/// The digest of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace sickbay
