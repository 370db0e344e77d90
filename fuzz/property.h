// SPDX-License-Identifier: Apache-2.0
// What every parser owes for every input, for the fuzz targets.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace sickbay::fuzz {

inline std::string_view as_text(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// A refusal names the input's fault and a remedy, and whatever the input was, its message is printable and
/// short.
inline void check_refusal(const Error& error) {
  SB_CHECK(error.code == ErrorCode::bad_input, "bytes from outside are bad_input, nothing else");
  SB_CHECK(!error.remedy_text.empty(), "a refusal has a remedy of its own");
  const std::string message = error.message("fuzz");
  SB_CHECK(message.size() < 1000, "a message is bounded");
  SB_CHECK(
      std::all_of(message.begin(), message.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }),
      "a message is printable");
}

}  // namespace sickbay::fuzz
