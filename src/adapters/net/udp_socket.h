// SPDX-License-Identifier: Apache-2.0
// ports/datagrams.h over UDP.
#pragma once
#include "ports/datagrams.h"
#include "ports/loop.h"

namespace sickbay {

/// On `loop`, which must outlive what it opens.
OpenDatagrams udp_on(Loop& loop);

}  // namespace sickbay
