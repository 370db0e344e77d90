// SPDX-License-Identifier: Apache-2.0
// A name for a process that no other process ever has: boot, number and start.
//
// For notes on disk about who is at something: a process number alone is given again.
#pragma once
#include <string>
#include <string_view>

namespace sickbay {

/// "BOOT_ID/PID/START" of process `pid` ("self": the caller), START in ticks after boot.  Empty where there
/// is no such process, or it is a zombie.  `root`: "/" or the folder of a recorded machine.
std::string process_identity(std::string_view pid = "self", std::string_view root = "/");

/// Whether the process of that identity is there.  False for what is none.
bool process_lives(std::string_view identity, std::string_view root = "/");

}  // namespace sickbay
