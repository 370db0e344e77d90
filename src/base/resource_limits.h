// SPDX-License-Identifier: Apache-2.0
// The names of resource limits, as Submission and ProcessSpec carry them.
//
// One table for whoever reads the limits of a shell (sickbay submit) and whoever sets them again
// (adapters/posix).
#pragma once
#include <sys/resource.h>

#include <array>
#include <string_view>

namespace sickbay {

struct ResourceLimit {
  std::string_view name;  ///< as in sbatch's SLURM_RLIMIT_*
  __rlimit_resource_t resource;
};

/// The soft limits that sbatch propagates.
inline constexpr auto kResourceLimits = std::to_array<ResourceLimit>({
    {"CPU", RLIMIT_CPU},
    {"FSIZE", RLIMIT_FSIZE},
    {"DATA", RLIMIT_DATA},
    {"STACK", RLIMIT_STACK},
    {"CORE", RLIMIT_CORE},
    {"RSS", RLIMIT_RSS},
    {"NPROC", RLIMIT_NPROC},
    {"NOFILE", RLIMIT_NOFILE},
    {"MEMLOCK", RLIMIT_MEMLOCK},
    {"AS", RLIMIT_AS},
});

}  // namespace sickbay
