// SPDX-License-Identifier: Apache-2.0
// Numbers of things, in sentences.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace sickbay {

/// "1 job", "3 jobs": of nouns whose plural is an s.
inline std::string counted(std::size_t n, std::string_view noun) {
  return std::to_string(n).append(" ").append(noun).append(n == 1 ? "" : "s");
}

}  // namespace sickbay
