// SPDX-License-Identifier: Apache-2.0
// Configuration of the lab's Slurm.  What releases must be told apart is in slurm_version.cc.
#include "lab/slurm_conf.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

namespace sickbay::lab {
namespace {

// MiB per node, as Slurm is told.  Nobody checks that the machine has it for all nodes at once.
constexpr int kNodeMemory = 4000;

// "n1" or "n[1-6]".
std::string range(int first, int last) {
  return first == last ? fmt::format("n{}", first) : fmt::format("n[{}-{}]", first, last);
}

bool has_line_of(const std::string& text, const std::string& name) {
  return text.rfind(name + ":", 0) == 0 || text.find("\n" + name + ":") != std::string::npos;
}

std::string ended(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

}  // namespace

std::string slurm_conf(const Layout& l, bool cgroups) {
  const Wishes& w = l.wishes;
  std::string text =
      fmt::format(R"(# Slurm of the Sickbay lab '{name}'.  Written by `sickbay lab up`.
ClusterName={name}
SlurmctldHost=ctl({ctl})
SlurmctldPort={port0}
SlurmdPort={port1}
SlurmUser={user}
SlurmdUser=root
# its own munged, for slurmctld's way to slurmdbd too (AccountingStoragePass)
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={dir}/run/munge.sock
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=ctl
AccountingStoragePort={port2}
AccountingStoragePass={dir}/run/munge.sock
StateSaveLocation={dir}/state/slurmctld
SlurmdSpoolDir={dir}/nodes/%n/spool
SlurmctldPidFile={dir}/state/slurmctld.pid
SlurmdPidFile={dir}/run/slurmd.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/log/slurmd-%n.log
SlurmctldDebug=info
SlurmdDebug=info
# nodes are what slurm.conf says; real ones would need a container each
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin={task}
TaskProlog={dir}/etc/task_prolog
MpiDefault=none
# a rank that dies takes its step along; without this its neighbours wait for it until the time limit
KillOnBadExit=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU={mem_per_cpu}
SchedulerType=sched/backfill
SchedulerParameters=permit_job_expansion,sched_interval=1,bf_interval=2
# as on most sites: without a weight every job has priority 1, and no nice puts one behind another
PriorityType=priority/multifactor
PriorityWeightPartition=1000
# a job over --mem: OUT_OF_MEMORY by task/cgroup; where there is no cgroup v1, OverMemoryKill, and FAILED with
# signal 9.  Slurm hands the limit to slurmd only where memory is allocated (CR_Core_Memory above).
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
{memory}# quick to notice, and finished jobs stay visible for five minutes
SlurmctldTimeout=30
SlurmdTimeout=20
KillWait=5
MinJobAge=300
InactiveLimit=0
OverTimeLimit=0
ReturnToService=1
RebootProgram={dir}/etc/reboot
JobRequeue=1
EnforcePartLimits=ALL
MaxJobCount=20000
)",
                  fmt::arg("name", w.name), fmt::arg("ctl", l.controller().address),
                  fmt::arg("port0", l.first_port), fmt::arg("port1", l.first_port + 1),
                  fmt::arg("port2", l.first_port + 2), fmt::arg("user", w.slurm_user),
                  fmt::arg("dir", l.dir()), fmt::arg("task", cgroups ? "task/cgroup" : "task/none"),
                  fmt::arg("memory", cgroups ? "" : "JobAcctGatherParams=OverMemoryKill\n"),
                  fmt::arg("mem_per_cpu", std::max(1, kNodeMemory / w.cpus)));
  for (const Machine& m : l.machines())
    text += fmt::format("NodeName={0} NodeHostname={0} NodeAddr={1} CPUs={2} RealMemory={3} State=UNKNOWN\n",
                        m.name, m.address, w.cpus, kNodeMemory);
  text +=
      fmt::format("PartitionName=main Nodes={} Default=YES MaxTime=INFINITE State=UP\n", range(1, w.nodes));
  text += "PartitionName=small Nodes=n1 MaxTime=INFINITE State=UP\n";
  if (w.spares > 0)
    text += fmt::format("PartitionName=spare Nodes={} Hidden=YES MaxTime=INFINITE State=UP\n",
                        range(w.nodes + 1, w.nodes + w.spares));
  return text;
}

std::string slurmdbd_conf(const Layout& l) {
  return fmt::format(R"(# slurmdbd of the Sickbay lab '{name}'.
AuthType=auth/munge
AuthInfo=socket={dir}/run/munge.sock
DbdHost=ctl
DbdAddr={ctl}
DbdPort={port}
SlurmUser={user}
LogFile={dir}/log/slurmdbd.log
PidFile={dir}/state/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
)",
                     fmt::arg("name", l.wishes.name), fmt::arg("dir", l.dir()),
                     fmt::arg("ctl", l.controller().address), fmt::arg("port", l.first_port + 2),
                     fmt::arg("user", l.wishes.slurm_user));
}

std::string hosts_file(const Layout& l) {
  std::string text = "127.0.0.1 localhost\n" + l.controller().address + " ctl\n";
  for (const Machine& m : l.hosts()) text += m.address + " " + m.name + "\n";
  return text;
}

std::string passwd_file(const Layout& l, const std::string& host_passwd) {
  std::string text = ended(host_passwd);
  for (const User& u : lab_users())
    if (!has_line_of(text, u.name))
      text += fmt::format("{0}:x:{1}:{1}:lab user:{2}/{0}:/bin/sh\n", u.name, u.id, l.path("home"));
  if (!has_line_of(text, "slurm")) text += "slurm:x:64030:64030::/nonexistent:/usr/sbin/nologin\n";
  return text;
}

std::string group_file(const std::string& host_group) {
  std::string text = ended(host_group);
  for (const User& u : lab_users())
    if (!has_line_of(text, u.name)) text += fmt::format("{}:x:{}:\n", u.name, u.id);
  if (!has_line_of(text, "slurm")) text += "slurm:x:64030:\n";
  return text;
}

std::string task_prolog(const Layout& l) {
  return "#!/bin/sh\n"
         "# Keep MPICH (UCX) on the lab's own network, whatever environment a job was submitted with.\n"
         "echo export UCX_TLS=tcp,self\n"
         "echo export UCX_NET_DEVICES=eth0\n"
         "# What faults add on this node (a shifted clock).\n"
         "more=" +
         l.path("nodes") +
         "/$SLURMD_NODENAME/environment\n"
         "if [ -r \"$more\" ]; then while read -r line; do echo \"export $line\"; done <\"$more\"; fi\n";
}

}  // namespace sickbay::lab
