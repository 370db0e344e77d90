// SPDX-License-Identifier: Apache-2.0
// The text of a diagnosis on request: what `sickbay diagnose` prints of the API's task.
//
// Pure.  What was found stands first; the journal, the values and the time are its support.
#pragma once
#include <string>

#include "apps/cli/page.h"
#include "base/json.h"

namespace sickbay::cli {

inline constexpr int kExitFault = 10, kExitUnknown = 11, kExitNotWhole = 13;

/// 0 nothing found; kExitFault; kExitUnknown: no fault, and something could not be told; kExitNotWhole: the
/// diagnosis did not come to its end.
int diagnosis_exit_code(const Json& task);
/// `explain`: why each production fired or did not, too.
std::string diagnosis_text(const Json& task, bool explain, const TextPage& page);

}  // namespace sickbay::cli
