// SPDX-License-Identifier: Apache-2.0
// The state of the engine in one event, so that the journal need not hold what every job came to.  Inside
// engine/blackhole.
#pragma once
#include "engine/blackhole/blackhole.h"

namespace sickbay::blackhole {

/// What `jobs_kept` says: the whole state, as summary() wrote it.
State state_from(const Event& event);

}  // namespace sickbay::blackhole
