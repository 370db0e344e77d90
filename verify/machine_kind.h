// SPDX-License-Identifier: Apache-2.0
// What machine this is, as far as speed goes: speeds are compared among equal kinds only.
#pragma once
#include <string>

namespace sickbay::verify {

/// "Xeon Gold 6248 x40, 187 GiB": processor, how many of them, memory.  Reads `root`/proc/cpuinfo and
/// meminfo;
/// "" where the processor cannot be told, and then nothing is compared.
std::string machine_kind(const std::string& root = "");

}  // namespace sickbay::verify
