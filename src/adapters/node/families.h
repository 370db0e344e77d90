// SPDX-License-Identifier: Apache-2.0
// The built-in operations, one function each; src/model/builtin_*.cc says what they take and give.
//
// inline and thread ones give their answer; those that ask other programs give a plan.
#pragma once
#include "adapters/node/call.h"
#include "adapters/node/parse.h"

namespace sickbay::node {

// hardware.cc
OperationEnd hardware(const Call&);
// parts.cc
std::int64_t infiniband_adapters_of(const Tree&);
OperationEnd parts(const Call&);
// memory.cc
OperationEnd memory(const Call&);
OperationEnd swap(const Call&);
// cpus.cc
OperationEnd cpus(const Call&);
OperationEnd machine_checks(const Call&);
OperationEnd load(const Call&);
// sensors.cc
OperationEnd temperature(const Call&);
// edac.cc
OperationEnd edac(const Call&);
OperationEnd dimm(const Call&);
// disks.cc
std::int64_t disks_of(const Tree&);
OperationEnd disks(const Call&);
OperationEnd disk_place(const Call&);
ChildPlan disk_smart(const Call&);
// gpu.cc
std::int64_t gpus_on_the_bus(const Tree&);
ChildPlan gpu(const Call&);
// power.cc
ChildPlan power_supplies(const Call&);
ChildPlan ups(const Call&);
// mounts.cc
OperationEnd filesystem(const Call&);
OperationEnd mount(const Call&);
OperationEnd read_only_mounts(const Call&);
ChildPlan remount(const Call&);
// network.cc
OperationEnd nic(const Call&);
OperationEnd tcp(const Call&);
OperationEnd infiniband(const Call&);
// reach.cc
Result<SlurmControllers> slurm_controllers(const Tree&);
OperationEnd reach(const Call&);
ChildPlan slurm_ping(const Call&);
// clock.cc
OperationEnd clock(const Call&);
// temporary.cc
OperationEnd temporary_files(const Call&);
OperationEnd clean_temporary(const Call&);
// processes.cc
OperationEnd memory_hogs(const Call&);
OperationEnd memory_process(const Call&);
OperationEnd zombies(const Call&);
OperationEnd processes(const Call&);
OperationEnd jobs(const Call&);
OperationEnd process_gone(const Call&);
OperationEnd job_gone(const Call&);
// use_of_job.cc
OperationEnd job_network(const Call&);
ChildPlan job_slurm(const Call&);
// kill.cc
OperationEnd kill_leftovers(const Call&);
OperationEnd kill_process(const Call&);
// services.cc
OperationEnd service(const Call&);
ChildPlan restart_service(const Call&);
ChildPlan cancel_job(const Call&);
// site_files.cc
OperationEnd file_test(const Call&);
OperationEnd file_stat(const Call&);
OperationEnd file_contents(const Call&);
OperationEnd mount_match(const Call&);
// site_commands.cc
ChildPlan command(const Call&);
ChildPlan nhc_check(const Call&);
ChildPlan ping(const Call&);
ChildPlan dmi(const Call&);
ChildPlan memory_errors(const Call&);
// site_devices.cc
OperationEnd net_device(const Call&);
OperationEnd ib_link(const Call&);
OperationEnd cpu_info(const Call&);
OperationEnd sockets(const Call&);
OperationEnd kernel_messages(const Call&);
// named_processes.cc
OperationEnd process_match(const Call&);
OperationEnd process_use(const Call&);
OperationEnd kswapd(const Call&);
OperationEnd stray_processes(const Call&);

}  // namespace sickbay::node
