// SPDX-License-Identifier: Apache-2.0
// The texts of a lab's configuration files.  Pure; why each line is there stands beside it in slurm_conf.cc.
#pragma once
#include <string>

#include "lab/layout.h"

namespace sickbay::lab {

/// `cgroups`: memory limits by task/cgroup; else by sampling.
std::string slurm_conf(const Layout& layout, bool cgroups);
std::string slurmdbd_conf(const Layout& layout);
std::string hosts_file(const Layout& layout);
/// The host's passwd (or group) and the lab's users.  A user or id that the host has already is left as it
/// is.
std::string passwd_file(const Layout& layout, const std::string& host_passwd);
std::string group_file(const std::string& host_group);
/// What slurmd runs before each task: it sets the variables that keep MPICH on the lab's network, and those
/// of the node's faults.
std::string task_prolog(const Layout& layout);

}  // namespace sickbay::lab
