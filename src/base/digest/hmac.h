// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA256 (RFC 2104, RFC 4231), by OpenSSL: that a short message comes from who has the key, and that
// nobody changed it.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sickbay {

inline constexpr std::size_t kSealBytes = 16;  ///< of the 32 that HMAC-SHA256 gives: RFC 2104, 5

/// The 32 bytes of HMAC-SHA256.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// Are both the same?  Takes as long for what is nearly right as for what is not.
bool same_secret(std::string_view a, std::string_view b);

/// `body` and the first kSealBytes of its HMAC behind it.
std::string seal(std::string_view body, std::string_view key);
/// The body of what seal() made with the same key, a part of `sealed`; nothing: it is another's, or was
/// changed. Takes as long for a seal that is nearly right as for one that is not.
std::optional<std::string_view> open_seal(std::string_view sealed, std::string_view key);

}  // namespace sickbay
