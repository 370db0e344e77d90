// SPDX-License-Identifier: Apache-2.0
// A reboot through Slurm as a command line, and what must hold before it.
//
// Pure.  libslurm has no public call for it (22.05), so scontrol does it.  Plain `scontrol reboot`, never
// with ASAP or nextstate: those replace the node's reason and lift its drain afterwards.  The reason is given
// anew, for without it a second reboot would replace it by "reboot issued".  All tried:
// doc/design/diagnose.md.
#pragma once
#include <string>
#include <string_view>

#include "ports/process_runner.h"
#include "ports/resource_manager.h"

namespace sickbay::slurm {

/// Whether `node`, as it is now, must still be asked to reboot; false: it has booted since, or is about to.
/// Errors: conflict (our drain is not there), busy (the node is not idle: for a moment after each change of
/// its drain slurmctld holds it for silent).
Result<bool> needs_reboot(const NodeInfo& node, const RebootOrder& order);
ProcessSpec reboot_command(const RebootOrder& order, const std::string& scontrol,
                           const std::string& slurm_conf);
/// What a failed `scontrol reboot` means.
Error reboot_error(const ProcessOutcome& outcome);

}  // namespace sickbay::slurm
