// SPDX-License-Identifier: Apache-2.0
// What an agent says with each poll about active checks: those that burden its node or what nodes share, for
// which sickbayd gives leave to some nodes at a time.
//
// Source: doc/design/diagnose.md, "Active checks"; doc/formats/api.md.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sickbay {

enum class ActiveWord : std::uint8_t {
  none,     ///< it wants none, and has given back what leave it had
  later,    ///< a run waits for leave, and could not begin now: it keeps its place
  waits,    ///< a run of its periods waits for leave
  ordered,  ///< one that somebody ordered does
  holds,    ///< it has leave and uses it
};
/// In the order of ActiveWord.
inline constexpr auto kActiveWords =
    std::to_array<std::string_view>({"none", "later", "waits", "ordered", "holds"});

constexpr std::string_view to_string(ActiveWord word) { return kActiveWords[static_cast<std::size_t>(word)]; }
constexpr std::optional<ActiveWord> active_word_from(std::string_view word) {
  const auto row = std::ranges::find(kActiveWords, word);
  if (row == kActiveWords.end()) return std::nullopt;
  return static_cast<ActiveWord>(row - kActiveWords.begin());
}
static_assert(active_word_from("holds") == ActiveWord::holds && !active_word_from(""));

}  // namespace sickbay
