// SPDX-License-Identifier: Apache-2.0
// A case as the API shows it (doc/formats/api.md).
#pragma once
#include "engine/identify/identify.h"

namespace sickbay::identify {

/// Everything about a case, as `sickbay why --json` prints it.
Json case_view(const Case& subject);
/// One line of `sickbay cases`.
Json case_summary(const Case& subject);
/// "unbound", "watching", "investigating", "waiting" or "closed".
std::string_view case_state(const Case& subject);

}  // namespace sickbay::identify
