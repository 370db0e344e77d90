// SPDX-License-Identifier: Apache-2.0
// What the programs of one node are told of time: a library (clock_shift.c) is preloaded into them, for the
// kernel has one wall clock and one boot for all.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "lab/layout.h"

namespace sickbay::lab {

/// That the library is beside this program.  Errors: missing_program.
Status check_clock_library();
/// Puts it into the lab, where every user of a node can read it.  Gives its path.
Result<std::string> place_clock_library(const Layout& layout);
/// Where it is then.
std::string clock_library(const Layout& layout);

/// That a machine has booted `ago` before now.
Status note_boot(const Layout& layout, const std::string& machine, std::chrono::seconds ago);
/// When it has, in seconds of CLOCK_BOOTTIME; none: with the host.
std::optional<std::int64_t> booted_at(const Layout& layout, const std::string& machine);

}  // namespace sickbay::lab
