// SPDX-License-Identifier: Apache-2.0
// Packets of ICMP to one host and back, over a raw socket: root's.
//
// Nothing waits here: who sends some asks a moment later what came back.  So many at once that the socket's
// buffer holds their answers until then.
#pragma once
#include <memory>
#include <string>

#include "ports/echo.h"

namespace sickbay::node {

/// Errors: bad_input (no address in numbers); os.
Result<std::unique_ptr<Echo>> open_echo(const std::string& address);

}  // namespace sickbay::node
