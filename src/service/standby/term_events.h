// SPDX-License-Identifier: Apache-2.0
// Events of two sickbayds, of which one is active at a time (doc/design/standby.md): the subject `term`.
// In a header of their own, for no engine reads them.
#pragma once
#include <string_view>

namespace sickbay {

inline constexpr std::string_view kTermSubject = "term";
inline constexpr std::string_view kTermBegan =
    "term_began";  ///< term {term, who}: the first event of a sickbayd that became the active one
inline constexpr std::string_view kTermEnded =
    "term_ended";  ///< term {term, who, by}: an operator has it hand over; its last event

}  // namespace sickbay
