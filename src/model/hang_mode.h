// SPDX-License-Identifier: Apache-2.0
// What is done where the ranks of a job do not go on, as options, configuration and journal name it (--hang).
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sickbay {

enum class HangMode : std::uint8_t {
  off,     ///< nobody looks
  notify,  ///< it is told
  cancel,  ///< the run is ended, too, and is then a failure
};
/// In the order of HangMode.
inline constexpr auto kHangModes = std::to_array<std::string_view>({"off", "notify", "cancel"});

constexpr std::string_view to_string(HangMode mode) { return kHangModes[static_cast<std::size_t>(mode)]; }
constexpr std::optional<HangMode> hang_mode_from(std::string_view word) {
  const auto row = std::ranges::find(kHangModes, word);
  if (row == kHangModes.end()) return std::nullopt;
  return static_cast<HangMode>(row - kHangModes.begin());
}
static_assert(hang_mode_from("cancel") == HangMode::cancel && !hang_mode_from(""));

}  // namespace sickbay
