// SPDX-License-Identifier: Apache-2.0
// AskByTcp: does a host answer at a TCP port at all?  adapters/net/tcp_answers.h does it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "ports/loop.h"

namespace sickbay {

/// Asks `address` (in numbers: "10.0.0.3"); `done` comes once, with true where the connection was taken or
/// the host's kernel refused it: whoever says either is alive, whatever its programs do.
using AskByTcp = std::function<void(const std::string& address, std::uint16_t port, Done<bool> done)>;

}  // namespace sickbay
