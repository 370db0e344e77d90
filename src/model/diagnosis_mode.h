// SPDX-License-Identifier: Apache-2.0
// How deep a diagnosis goes, as periods, orders and findings name it.
//
// Source: doc/design/diagnose.md.
#pragma once
#include <algorithm>
#include <array>
#include <string_view>

namespace sickbay {

/// From the shallowest to the deepest.
inline constexpr auto kDiagnosisModes = std::to_array<std::string_view>({"quick", "deep", "extended"});

constexpr bool is_diagnosis_mode(std::string_view word) {
  return std::ranges::find(kDiagnosisModes, word) != kDiagnosisModes.end();
}
/// The place of a mode among all, from the shallowest; -1 for another word.
constexpr int depth_of_mode(std::string_view word) {
  const auto* at = std::ranges::find(kDiagnosisModes, word);
  return at == kDiagnosisModes.end() ? -1 : static_cast<int>(at - kDiagnosisModes.begin());
}

}  // namespace sickbay
