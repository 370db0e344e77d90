// SPDX-License-Identifier: Apache-2.0
// What every parser owes for every input, for the fuzz targets.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text_table.h"

namespace sickbay::fuzz {

inline std::string_view as_text(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// One line that does nothing to a terminal; names in it may have letters of any script.
inline bool is_printable(std::string_view text) { return for_terminal(text) == text; }

/// A refusal names the input's fault and a remedy, and whatever the input was, its message is printable and
/// short: some lines, where a reader tells several faults at once, and none of them long.
inline void check_refusal(const Error& error) {
  SB_CHECK(error.code == ErrorCode::bad_input, "bytes from outside are bad_input, nothing else");
  SB_CHECK(!error.remedy_text.empty(), "a refusal has a remedy of its own");
  std::string message = error.message("fuzz");
  SB_CHECK(std::count(message.begin(), message.end(), '\n') < 60, "a message is bounded");
  for (std::size_t begin = 0; begin < message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    SB_CHECK(end - begin < 1000, "and so is each of its lines");
    begin = end + 1;
  }
  std::erase(message, '\n');
  SB_CHECK(is_printable(message), "a message is printable");
}

}  // namespace sickbay::fuzz
