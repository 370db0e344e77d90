// SPDX-License-Identifier: Apache-2.0
// Whether a host answers at a TCP port at all: that it takes the connection, or that its kernel refuses it.
//
// Who answers so is not lost, whatever its programs do: a process that is stopped or slow has no part in it.
#pragma once
#include <cstdint>
#include <string>

#include "ports/loop.h"

namespace sickbay {

/// Asks `address` (in numbers) three times within half a second, for a question may be lost; `done` comes
/// once, with true at the first answer. Errors: bad_input (no address), os.
void ask_by_tcp(Loop& loop, const std::string& address, std::uint16_t port, Done<bool> done);

}  // namespace sickbay
