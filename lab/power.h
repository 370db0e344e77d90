// SPDX-License-Identifier: Apache-2.0
// A machine's power: off as by its switch, on again with a new boot id, and reboots that Slurm asks for.
//
// Slurm's RebootProgram runs inside the node, where nothing can end and start the node.  It leaves a request
// there, and a process of the lab outside, started by `up`, does what is asked.
#pragma once
#include <string>

#include "lab/cleanup.h"
#include "lab/layout.h"

namespace sickbay::lab {

/// The machine's network link, "up" or "down".
Status set_link(const Layout& layout, const std::string& machine, const char* state);

/// Ends all processes of a machine, its link first: a machine that loses power sends no FIN and no RST.
Status power_off(const Layout& layout, const std::string& machine);
/// Starts what ran there before, with a new boot id.  `as_booted`: Slurm is shown a new boot time, too, which
/// it expects only where it asked for the reboot (else it sets the node DOWN: "unexpectedly rebooted").
Status power_on(const Layout& layout, const std::string& machine, bool as_booted);

/// LAB/etc/reboot, the RebootProgram.
std::string reboot_program(const Layout& layout);
/// Starts the process that does what it asks for.  Recorded in `list` before it exists.
Status start_reboots(const Layout& layout, const CleanupList& list);

}  // namespace sickbay::lab
