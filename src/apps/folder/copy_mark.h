// SPDX-License-Identifier: Apache-2.0
// Whose a copy is: a file in it says case, run and when the case was opened.
//
// The name alone (sickbay-c17/work-r2) does not: two clusters with one /home, or a journal that was lost,
// count their cases from 1, and a copy of another life is somebody's result.
#pragma once
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace sickbay {

inline constexpr std::string_view kCopyMark = ".sickbay-copy";

/// Null where there is none.
Json read_mark(const std::string& folder);
Status write_mark(const std::string& folder, const Json& mark);
/// All that `wanted` says stands in the folder's mark.
bool has_mark(const std::string& folder, const Json& wanted);

}  // namespace sickbay
