// SPDX-License-Identifier: Apache-2.0
// Control groups of the lab's machines: made when a fault first needs one, version 1 or 2.
#pragma once
#include <string>

#include "lab/cleanup.h"
#include "lab/machines.h"

namespace sickbay::lab {

/// A limit, in the terms of either version.
enum class Controller { cpu, memory, blkio };

struct Cgroup {
  std::string path;
  bool v2 = false;
};

/// Whether Slurm can keep jobs to their memory by cgroups here, as task/cgroup of 22.05 does: with version 1.
/// Only then does a job over its limit end as OUT_OF_MEMORY.
bool slurm_can_confine_memory();
/// The machine's memory group for slurmd; it becomes /sys/fs/cgroup/memory on the machine, so that two labs
/// (and the host's own slurmd) do not meet.  Recorded before it is made.
Result<std::string> make_memory_group(const Layout& layout, const Machine& machine);

/// Whether this kernel offers the controller.  Error: os, with what to do.
Status check_controller(Controller controller);
/// The machine's group, with all of the machine's processes in it; what starts there later is in it too.
/// Recorded in the cleanup list before it is made.
Result<Cgroup> machine_cgroup(const Layout& layout, const Machine& machine, Controller controller);
/// A group below it for one process.
Result<Cgroup> process_cgroup(const Layout& layout, const Machine& machine, const Process& process,
                              Controller controller);

/// `share` of one core, in percent; 0: no limit.
Status limit_cpu(const Cgroup& group, double share);
/// Bytes; 0: no limit.
Status limit_memory(const Cgroup& group, std::int64_t bytes);
/// Bytes per second each way on the disk that holds `path`; 0: no limit.  Error: os when that is no disk.
Status limit_disk(const Cgroup& group, const std::string& path, std::int64_t rate);

}  // namespace sickbay::lab
