// SPDX-License-Identifier: Apache-2.0
// One event of the journal as one line, for `sickbay watch` and `sickbay journal`.
#pragma once
#include <string>

#include "apps/cli/page.h"
#include "model/event.h"

namespace sickbay::cli {

/// "10:04:05  c17  job_seen  run=c17.r1 state=RUNNING nodes=n[1-2]\n".  Kinds without a row of their own show
/// all members of their body.  Harmless on a terminal.
std::string event_line(const Event& event, const TextPage& page);

}  // namespace sickbay::cli
