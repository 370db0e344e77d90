// SPDX-License-Identifier: Apache-2.0
// The machines of a lab: holder processes with namespaces of their own, the network between them, their
// mounts.
//
// Every machine has its own network, mount, UTS, IPC and PID namespace: a process list, a host name, an eth0,
// a /tmp and a boot id of its own.  The bridge stands in ctl's network namespace; the host's network is not
// touched at all.  Mounts follow the host's (slave) and never reach it.
#pragma once
#include <string>
#include <vector>

#include "lab/child.h"
#include "lab/cleanup.h"
#include "lab/layout.h"

namespace sickbay::lab {

/// Starts the holder of `machine` and makes its mounts.  Recorded in `list` before it exists.
Status start_machine(const Layout& layout, const Machine& machine, const CleanupList& list);
/// Joins all machines by veth pairs to the bridge and gives them their addresses.
Status join_network(const Layout& layout);

/// The living holder of a machine.  Error: conflict when the lab is not (or no longer) running.
Result<Process> holder_of(const Layout& layout, const std::string& machine);

/// Writes a new boot id, as a reboot does.
Status renew_boot_id(const Layout& layout, const std::string& machine);

/// The environment of what runs on a machine: PATH, SLURM_CONF, SICKBAY_ROOT, UCX_*, and what faults add.
std::vector<std::string> machine_environment(const Layout& layout, const std::string& machine);

}  // namespace sickbay::lab
