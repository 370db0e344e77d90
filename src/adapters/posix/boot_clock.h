// SPDX-License-Identifier: Apache-2.0
// The clock of leases: it never steps, and runs on while the host sleeps.
#pragma once
#include "base/time.h"

namespace sickbay {

/// The time since the host's boot (CLOCK_BOOTTIME).  Any thread may ask.
Micros boot_clock();

}  // namespace sickbay
