// SPDX-License-Identifier: Apache-2.0
// The words of a scenario's line and how their values are read.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sickbay::sim {

using Words = std::vector<std::string>;

Words words_of(std::string_view line);

/// bad_input.
tl::unexpected<Error> bad(std::string what);

/// "key=value" -> both; a word without '=' has an empty value.
std::pair<std::string, std::string> key_value(const std::string& word);

std::optional<double> number(const std::string& text);

/// The value of "name=DURATION" among `words`.  Errors: bad_input where it is missing.
Result<std::chrono::milliseconds> duration_word(const Words& words, std::string_view name);

}  // namespace sickbay::sim
