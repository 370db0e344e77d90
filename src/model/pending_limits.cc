// SPDX-License-Identifier: Apache-2.0
// Slurm's limits on accounts (associations) and QOS as reasons to wait: each is whose limit, what kind of
// limit, and what it counts; the sentences are made from these three.
#include "model/pending_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sickbay {
namespace {

enum class LimitOf : std::uint8_t { account, qos };

enum class Counted : std::uint8_t {
  none,  ///< the kind of limit says it
  cpus,
  memory,
  nodes,
  energy,
  devices,
  licences,
  burst_buffer,
  billing,
  something,  ///< slurmctld itself does not say which
};
struct CountedRow {
  Counted counted;
  std::string_view text;
};
constexpr auto kCounted = std::to_array<CountedRow>({
    {Counted::none, ""},
    {Counted::cpus, "CPUs"},
    {Counted::memory, "memory"},
    {Counted::nodes, "nodes"},
    {Counted::energy, "energy"},
    {Counted::devices, "GPUs or other devices"},
    {Counted::licences, "licences"},
    {Counted::burst_buffer, "burst buffer space"},
    {Counted::billing, "billing units"},
    {Counted::something, "resources of a kind that Slurm does not name"},
});

enum class Bound : std::uint8_t {
  group,
  group_minutes,
  group_run_minutes,
  group_jobs,
  group_submitted,
  group_wall,
  jobs,
  user_jobs,
  account_jobs,
  user_submitted,
  account_submitted,
  per_job,
  per_node,
  per_user,
  per_account,
  minutes_per_job,
  wall,
  at_least,
};
// {0}: "account {account}" or "QOS {qos}"; {1}: what is counted.
struct BoundRow {
  Bound bound;
  PendingCure cure;
  bool lasting;
  std::string_view meaning, remedy;
};
using enum PendingCure;
constexpr auto kBounds = std::to_array<BoundRow>({
    {Bound::group, time, false,
     "the running jobs of {0} hold the {1} that {0} may hold at one time, or would with this one",
     "it starts when enough of those jobs have ended"},
    {Bound::group_minutes, operators, true, "{0} has used up its share of {1} over time",
     "operators can raise that share; where the site lets past use fade, it comes back by itself"},
    {Bound::group_run_minutes, time, false,
     "the running jobs of {0} have reserved, up to their time limits, as many minutes of {1} as {0} may",
     "it starts when some of those jobs have ended; a shorter time limit asks for less: 'scontrol update "
     "jobid={{job}} timelimit=...'"},
    {Bound::group_jobs, time, false, "as many jobs of {0} run as may run at one time",
     "it starts when one of them has ended"},
    {Bound::group_submitted, time, false, "as many jobs of {0} run and wait as may be there at one time",
     "it goes on when some of them have ended"},
    {Bound::group_wall, operators, true, "{0} has used up the run time that its jobs may have together",
     "operators can raise that limit; where the site lets past use fade, it comes back by itself"},
    {Bound::jobs, time, false, "as many jobs run in {0} as may run at one time",
     "it starts when one of them has ended"},
    {Bound::user_jobs, time, false, "as many jobs of its user run in {0} as one user may run at one time",
     "it starts when one of them has ended"},
    {Bound::account_jobs, time, false,
     "as many jobs of account {{account}} run in {0} as one account may run at one time",
     "it starts when one of them has ended"},
    {Bound::user_submitted, time, false, "as many jobs of its user are in {0} as one user may have there",
     "it goes on when some of them have ended"},
    {Bound::account_submitted, time, false,
     "as many jobs of account {{account}} are in {0} as one account may have there",
     "it goes on when some of them have ended"},
    {Bound::per_job, user, true, "it asks for more {1} than {0} allows one job",
     "ask for less ('scontrol show job {{job}}' shows what it asks for), or take another account or QOS"},
    {Bound::per_node, user, true, "it asks for more {1} on one node than {0} allows one job",
     "spread it over more nodes or ask for less, or take another account or QOS"},
    {Bound::per_user, time, false,
     "its user's running jobs in {0} hold the {1} that one user may hold there, or would with this one",
     "it starts when enough of them have ended"},
    {Bound::per_account, time, false,
     "the running jobs of account {{account}} in {0} hold the {1} that one account may hold there, or would "
     "with this one",
     "it starts when enough of those jobs have ended"},
    {Bound::minutes_per_job, user, true, "its time limit times its {1} is more than {0} allows one job",
     "lower the time limit ('scontrol update jobid={{job}} timelimit=...') or ask for less"},
    {Bound::wall, user, true, "its time limit ({{time_limit}}) is longer than {0} allows a job",
     "lower it: 'scontrol update jobid={{job}} timelimit=...'"},
    {Bound::at_least, user, true, "it asks for less {1} than {0} demands of a job",
     "ask for more, or take another QOS"},
});

struct LimitRow {
  std::string_view slurm_name, word;
  LimitOf of;
  Bound bound;
  Counted counted;
};
constexpr auto kLimits = std::to_array<LimitRow>({
    {"WAIT_QOS_GRP_CPU", "QOSGrpCpuLimit", LimitOf::qos, Bound::group, Counted::cpus},
    {"WAIT_QOS_GRP_CPU_MIN", "QOSGrpCPUMinutesLimit", LimitOf::qos, Bound::group_minutes, Counted::cpus},
    {"WAIT_QOS_GRP_CPU_RUN_MIN", "QOSGrpCPURunMinutesLimit", LimitOf::qos, Bound::group_run_minutes,
     Counted::cpus},
    {"WAIT_QOS_GRP_JOB", "QOSGrpJobsLimit", LimitOf::qos, Bound::group_jobs, Counted::none},
    {"WAIT_QOS_GRP_MEM", "QOSGrpMemLimit", LimitOf::qos, Bound::group, Counted::memory},
    {"WAIT_QOS_GRP_NODE", "QOSGrpNodeLimit", LimitOf::qos, Bound::group, Counted::nodes},
    {"WAIT_QOS_GRP_SUB_JOB", "QOSGrpSubmitJobsLimit", LimitOf::qos, Bound::group_submitted, Counted::none},
    {"WAIT_QOS_GRP_WALL", "QOSGrpWallLimit", LimitOf::qos, Bound::group_wall, Counted::none},
    {"WAIT_QOS_MAX_CPU_PER_JOB", "QOSMaxCpuPerJobLimit", LimitOf::qos, Bound::per_job, Counted::cpus},
    {"WAIT_QOS_MAX_CPU_MINS_PER_JOB", "QOSMaxCpuMinutesPerJobLimit", LimitOf::qos, Bound::minutes_per_job,
     Counted::cpus},
    {"WAIT_QOS_MAX_NODE_PER_JOB", "QOSMaxNodePerJobLimit", LimitOf::qos, Bound::per_job, Counted::nodes},
    {"WAIT_QOS_MAX_WALL_PER_JOB", "QOSMaxWallDurationPerJobLimit", LimitOf::qos, Bound::wall, Counted::none},
    {"WAIT_QOS_MAX_CPU_PER_USER", "QOSMaxCpuPerUserLimit", LimitOf::qos, Bound::per_user, Counted::cpus},
    {"WAIT_QOS_MAX_JOB_PER_USER", "QOSMaxJobsPerUserLimit", LimitOf::qos, Bound::user_jobs, Counted::none},
    {"WAIT_QOS_MAX_NODE_PER_USER", "QOSMaxNodePerUserLimit", LimitOf::qos, Bound::per_user, Counted::nodes},
    {"WAIT_QOS_MAX_SUB_JOB", "QOSMaxSubmitJobPerUserLimit", LimitOf::qos, Bound::user_submitted,
     Counted::none},
    {"WAIT_QOS_MIN_CPU", "QOSMinCpuNotSatisfied", LimitOf::qos, Bound::at_least, Counted::cpus},
    {"WAIT_ASSOC_GRP_CPU", "AssocGrpCpuLimit", LimitOf::account, Bound::group, Counted::cpus},
    {"WAIT_ASSOC_GRP_CPU_MIN", "AssocGrpCPUMinutesLimit", LimitOf::account, Bound::group_minutes,
     Counted::cpus},
    {"WAIT_ASSOC_GRP_CPU_RUN_MIN", "AssocGrpCPURunMinutesLimit", LimitOf::account, Bound::group_run_minutes,
     Counted::cpus},
    {"WAIT_ASSOC_GRP_JOB", "AssocGrpJobsLimit", LimitOf::account, Bound::group_jobs, Counted::none},
    {"WAIT_ASSOC_GRP_MEM", "AssocGrpMemLimit", LimitOf::account, Bound::group, Counted::memory},
    {"WAIT_ASSOC_GRP_NODE", "AssocGrpNodeLimit", LimitOf::account, Bound::group, Counted::nodes},
    {"WAIT_ASSOC_GRP_SUB_JOB", "AssocGrpSubmitJobsLimit", LimitOf::account, Bound::group_submitted,
     Counted::none},
    {"WAIT_ASSOC_GRP_WALL", "AssocGrpWallLimit", LimitOf::account, Bound::group_wall, Counted::none},
    {"WAIT_ASSOC_MAX_JOBS", "AssocMaxJobsLimit", LimitOf::account, Bound::jobs, Counted::none},
    {"WAIT_ASSOC_MAX_CPU_PER_JOB", "AssocMaxCpuPerJobLimit", LimitOf::account, Bound::per_job, Counted::cpus},
    {"WAIT_ASSOC_MAX_CPU_MINS_PER_JOB", "AssocMaxCpuMinutesPerJobLimit", LimitOf::account,
     Bound::minutes_per_job, Counted::cpus},
    {"WAIT_ASSOC_MAX_NODE_PER_JOB", "AssocMaxNodePerJobLimit", LimitOf::account, Bound::per_job,
     Counted::nodes},
    {"WAIT_ASSOC_MAX_WALL_PER_JOB", "AssocMaxWallDurationPerJobLimit", LimitOf::account, Bound::wall,
     Counted::none},
    {"WAIT_ASSOC_MAX_SUB_JOB", "AssocMaxSubmitJobLimit", LimitOf::account, Bound::user_submitted,
     Counted::none},
    {"WAIT_ASSOC_GRP_UNK", "AssocGrpUnknown", LimitOf::account, Bound::group, Counted::something},
    {"WAIT_ASSOC_GRP_UNK_MIN", "AssocGrpUnknownMinutes", LimitOf::account, Bound::group_minutes,
     Counted::something},
    {"WAIT_ASSOC_GRP_UNK_RUN_MIN", "AssocGrpUnknownRunMinutes", LimitOf::account, Bound::group_run_minutes,
     Counted::something},
    {"WAIT_ASSOC_MAX_UNK_PER_JOB", "AssocMaxUnknownPerJob", LimitOf::account, Bound::per_job,
     Counted::something},
    {"WAIT_ASSOC_MAX_UNK_PER_NODE", "AssocMaxUnknownPerNode", LimitOf::account, Bound::per_node,
     Counted::something},
    {"WAIT_ASSOC_MAX_UNK_MINS_PER_JOB", "AssocMaxUnknownMinutesPerJob", LimitOf::account,
     Bound::minutes_per_job, Counted::something},
    {"WAIT_ASSOC_MAX_CPU_PER_NODE", "AssocMaxCpuPerNode", LimitOf::account, Bound::per_node, Counted::cpus},
    {"WAIT_ASSOC_GRP_MEM_MIN", "AssocGrpMemMinutes", LimitOf::account, Bound::group_minutes, Counted::memory},
    {"WAIT_ASSOC_GRP_MEM_RUN_MIN", "AssocGrpMemRunMinutes", LimitOf::account, Bound::group_run_minutes,
     Counted::memory},
    {"WAIT_ASSOC_MAX_MEM_PER_JOB", "AssocMaxMemPerJob", LimitOf::account, Bound::per_job, Counted::memory},
    {"WAIT_ASSOC_MAX_MEM_PER_NODE", "AssocMaxMemPerNode", LimitOf::account, Bound::per_node, Counted::memory},
    {"WAIT_ASSOC_MAX_MEM_MINS_PER_JOB", "AssocMaxMemMinutesPerJob", LimitOf::account, Bound::minutes_per_job,
     Counted::memory},
    {"WAIT_ASSOC_GRP_NODE_MIN", "AssocGrpNodeMinutes", LimitOf::account, Bound::group_minutes,
     Counted::nodes},
    {"WAIT_ASSOC_GRP_NODE_RUN_MIN", "AssocGrpNodeRunMinutes", LimitOf::account, Bound::group_run_minutes,
     Counted::nodes},
    {"WAIT_ASSOC_MAX_NODE_MINS_PER_JOB", "AssocMaxNodeMinutesPerJob", LimitOf::account,
     Bound::minutes_per_job, Counted::nodes},
    {"WAIT_ASSOC_GRP_ENERGY", "AssocGrpEnergy", LimitOf::account, Bound::group, Counted::energy},
    {"WAIT_ASSOC_GRP_ENERGY_MIN", "AssocGrpEnergyMinutes", LimitOf::account, Bound::group_minutes,
     Counted::energy},
    {"WAIT_ASSOC_GRP_ENERGY_RUN_MIN", "AssocGrpEnergyRunMinutes", LimitOf::account, Bound::group_run_minutes,
     Counted::energy},
    {"WAIT_ASSOC_MAX_ENERGY_PER_JOB", "AssocMaxEnergyPerJob", LimitOf::account, Bound::per_job,
     Counted::energy},
    {"WAIT_ASSOC_MAX_ENERGY_PER_NODE", "AssocMaxEnergyPerNode", LimitOf::account, Bound::per_node,
     Counted::energy},
    {"WAIT_ASSOC_MAX_ENERGY_MINS_PER_JOB", "AssocMaxEnergyMinutesPerJob", LimitOf::account,
     Bound::minutes_per_job, Counted::energy},
    {"WAIT_ASSOC_GRP_GRES", "AssocGrpGRES", LimitOf::account, Bound::group, Counted::devices},
    {"WAIT_ASSOC_GRP_GRES_MIN", "AssocGrpGRESMinutes", LimitOf::account, Bound::group_minutes,
     Counted::devices},
    {"WAIT_ASSOC_GRP_GRES_RUN_MIN", "AssocGrpGRESRunMinutes", LimitOf::account, Bound::group_run_minutes,
     Counted::devices},
    {"WAIT_ASSOC_MAX_GRES_PER_JOB", "AssocMaxGRESPerJob", LimitOf::account, Bound::per_job, Counted::devices},
    {"WAIT_ASSOC_MAX_GRES_PER_NODE", "AssocMaxGRESPerNode", LimitOf::account, Bound::per_node,
     Counted::devices},
    {"WAIT_ASSOC_MAX_GRES_MINS_PER_JOB", "AssocMaxGRESMinutesPerJob", LimitOf::account,
     Bound::minutes_per_job, Counted::devices},
    {"WAIT_ASSOC_GRP_LIC", "AssocGrpLicense", LimitOf::account, Bound::group, Counted::licences},
    {"WAIT_ASSOC_GRP_LIC_MIN", "AssocGrpLicenseMinutes", LimitOf::account, Bound::group_minutes,
     Counted::licences},
    {"WAIT_ASSOC_GRP_LIC_RUN_MIN", "AssocGrpLicenseRunMinutes", LimitOf::account, Bound::group_run_minutes,
     Counted::licences},
    {"WAIT_ASSOC_MAX_LIC_PER_JOB", "AssocMaxLicensePerJob", LimitOf::account, Bound::per_job,
     Counted::licences},
    {"WAIT_ASSOC_MAX_LIC_MINS_PER_JOB", "AssocMaxLicenseMinutesPerJob", LimitOf::account,
     Bound::minutes_per_job, Counted::licences},
    {"WAIT_ASSOC_GRP_BB", "AssocGrpBB", LimitOf::account, Bound::group, Counted::burst_buffer},
    {"WAIT_ASSOC_GRP_BB_MIN", "AssocGrpBBMinutes", LimitOf::account, Bound::group_minutes,
     Counted::burst_buffer},
    {"WAIT_ASSOC_GRP_BB_RUN_MIN", "AssocGrpBBRunMinutes", LimitOf::account, Bound::group_run_minutes,
     Counted::burst_buffer},
    {"WAIT_ASSOC_MAX_BB_PER_JOB", "AssocMaxBBPerJob", LimitOf::account, Bound::per_job,
     Counted::burst_buffer},
    {"WAIT_ASSOC_MAX_BB_PER_NODE", "AssocMaxBBPerNode", LimitOf::account, Bound::per_node,
     Counted::burst_buffer},
    {"WAIT_ASSOC_MAX_BB_MINS_PER_JOB", "AssocMaxBBMinutesPerJob", LimitOf::account, Bound::minutes_per_job,
     Counted::burst_buffer},
    {"WAIT_QOS_GRP_UNK", "QOSGrpUnknown", LimitOf::qos, Bound::group, Counted::something},
    {"WAIT_QOS_GRP_UNK_MIN", "QOSGrpUnknownMinutes", LimitOf::qos, Bound::group_minutes, Counted::something},
    {"WAIT_QOS_GRP_UNK_RUN_MIN", "QOSGrpUnknownRunMinutes", LimitOf::qos, Bound::group_run_minutes,
     Counted::something},
    {"WAIT_QOS_MAX_UNK_PER_JOB", "QOSMaxUnknownPerJob", LimitOf::qos, Bound::per_job, Counted::something},
    {"WAIT_QOS_MAX_UNK_PER_NODE", "QOSMaxUnknownPerNode", LimitOf::qos, Bound::per_node, Counted::something},
    {"WAIT_QOS_MAX_UNK_PER_USER", "QOSMaxUnknownPerUser", LimitOf::qos, Bound::per_user, Counted::something},
    {"WAIT_QOS_MAX_UNK_MINS_PER_JOB", "QOSMaxUnknownMinutesPerJob", LimitOf::qos, Bound::minutes_per_job,
     Counted::something},
    {"WAIT_QOS_MIN_UNK", "QOSMinUnknown", LimitOf::qos, Bound::at_least, Counted::something},
    {"WAIT_QOS_MAX_CPU_PER_NODE", "QOSMaxCpuPerNode", LimitOf::qos, Bound::per_node, Counted::cpus},
    {"WAIT_QOS_GRP_MEM_MIN", "QOSGrpMemoryMinutes", LimitOf::qos, Bound::group_minutes, Counted::memory},
    {"WAIT_QOS_GRP_MEM_RUN_MIN", "QOSGrpMemoryRunMinutes", LimitOf::qos, Bound::group_run_minutes,
     Counted::memory},
    {"WAIT_QOS_MAX_MEM_MINS_PER_JOB", "QOSMaxMemoryMinutesPerJob", LimitOf::qos, Bound::minutes_per_job,
     Counted::memory},
    {"WAIT_QOS_MAX_MEM_PER_JOB", "QOSMaxMemoryPerJob", LimitOf::qos, Bound::per_job, Counted::memory},
    {"WAIT_QOS_MAX_MEM_PER_NODE", "QOSMaxMemoryPerNode", LimitOf::qos, Bound::per_node, Counted::memory},
    {"WAIT_QOS_MAX_MEM_PER_USER", "QOSMaxMemoryPerUser", LimitOf::qos, Bound::per_user, Counted::memory},
    {"WAIT_QOS_MIN_MEM", "QOSMinMemory", LimitOf::qos, Bound::at_least, Counted::memory},
    {"WAIT_QOS_GRP_ENERGY", "QOSGrpEnergy", LimitOf::qos, Bound::group, Counted::energy},
    {"WAIT_QOS_GRP_ENERGY_MIN", "QOSGrpEnergyMinutes", LimitOf::qos, Bound::group_minutes, Counted::energy},
    {"WAIT_QOS_GRP_ENERGY_RUN_MIN", "QOSGrpEnergyRunMinutes", LimitOf::qos, Bound::group_run_minutes,
     Counted::energy},
    {"WAIT_QOS_MAX_ENERGY_PER_JOB", "QOSMaxEnergyPerJob", LimitOf::qos, Bound::per_job, Counted::energy},
    {"WAIT_QOS_MAX_ENERGY_PER_NODE", "QOSMaxEnergyPerNode", LimitOf::qos, Bound::per_node, Counted::energy},
    {"WAIT_QOS_MAX_ENERGY_PER_USER", "QOSMaxEnergyPerUser", LimitOf::qos, Bound::per_user, Counted::energy},
    {"WAIT_QOS_MAX_ENERGY_MINS_PER_JOB", "QOSMaxEnergyMinutesPerJob", LimitOf::qos, Bound::minutes_per_job,
     Counted::energy},
    {"WAIT_QOS_MIN_ENERGY", "QOSMinEnergy", LimitOf::qos, Bound::at_least, Counted::energy},
    {"WAIT_QOS_GRP_NODE_MIN", "QOSGrpNodeMinutes", LimitOf::qos, Bound::group_minutes, Counted::nodes},
    {"WAIT_QOS_GRP_NODE_RUN_MIN", "QOSGrpNodeRunMinutes", LimitOf::qos, Bound::group_run_minutes,
     Counted::nodes},
    {"WAIT_QOS_MAX_NODE_MINS_PER_JOB", "QOSMaxNodeMinutesPerJob", LimitOf::qos, Bound::minutes_per_job,
     Counted::nodes},
    {"WAIT_QOS_MIN_NODE", "QOSMinNode", LimitOf::qos, Bound::at_least, Counted::nodes},
    {"WAIT_QOS_GRP_GRES", "QOSGrpGRES", LimitOf::qos, Bound::group, Counted::devices},
    {"WAIT_QOS_GRP_GRES_MIN", "QOSGrpGRESMinutes", LimitOf::qos, Bound::group_minutes, Counted::devices},
    {"WAIT_QOS_GRP_GRES_RUN_MIN", "QOSGrpGRESRunMinutes", LimitOf::qos, Bound::group_run_minutes,
     Counted::devices},
    {"WAIT_QOS_MAX_GRES_PER_JOB", "QOSMaxGRESPerJob", LimitOf::qos, Bound::per_job, Counted::devices},
    {"WAIT_QOS_MAX_GRES_PER_NODE", "QOSMaxGRESPerNode", LimitOf::qos, Bound::per_node, Counted::devices},
    {"WAIT_QOS_MAX_GRES_PER_USER", "QOSMaxGRESPerUser", LimitOf::qos, Bound::per_user, Counted::devices},
    {"WAIT_QOS_MAX_GRES_MINS_PER_JOB", "QOSMaxGRESMinutesPerJob", LimitOf::qos, Bound::minutes_per_job,
     Counted::devices},
    {"WAIT_QOS_MIN_GRES", "QOSMinGRES", LimitOf::qos, Bound::at_least, Counted::devices},
    {"WAIT_QOS_GRP_LIC", "QOSGrpLicense", LimitOf::qos, Bound::group, Counted::licences},
    {"WAIT_QOS_GRP_LIC_MIN", "QOSGrpLicenseMinutes", LimitOf::qos, Bound::group_minutes, Counted::licences},
    {"WAIT_QOS_GRP_LIC_RUN_MIN", "QOSGrpLicenseRunMinutes", LimitOf::qos, Bound::group_run_minutes,
     Counted::licences},
    {"WAIT_QOS_MAX_LIC_PER_JOB", "QOSMaxLicensePerJob", LimitOf::qos, Bound::per_job, Counted::licences},
    {"WAIT_QOS_MAX_LIC_PER_USER", "QOSMaxLicensePerUser", LimitOf::qos, Bound::per_user, Counted::licences},
    {"WAIT_QOS_MAX_LIC_MINS_PER_JOB", "QOSMaxLicenseMinutesPerJob", LimitOf::qos, Bound::minutes_per_job,
     Counted::licences},
    {"WAIT_QOS_MIN_LIC", "QOSMinLicense", LimitOf::qos, Bound::at_least, Counted::licences},
    {"WAIT_QOS_GRP_BB", "QOSGrpBB", LimitOf::qos, Bound::group, Counted::burst_buffer},
    {"WAIT_QOS_GRP_BB_MIN", "QOSGrpBBMinutes", LimitOf::qos, Bound::group_minutes, Counted::burst_buffer},
    {"WAIT_QOS_GRP_BB_RUN_MIN", "QOSGrpBBRunMinutes", LimitOf::qos, Bound::group_run_minutes,
     Counted::burst_buffer},
    {"WAIT_QOS_MAX_BB_PER_JOB", "QOSMaxBBPerJob", LimitOf::qos, Bound::per_job, Counted::burst_buffer},
    {"WAIT_QOS_MAX_BB_PER_NODE", "QOSMaxBBPerNode", LimitOf::qos, Bound::per_node, Counted::burst_buffer},
    {"WAIT_QOS_MAX_BB_PER_USER", "QOSMaxBBPerUser", LimitOf::qos, Bound::per_user, Counted::burst_buffer},
    // (slurmctld has no other word for it than for the account's limit of that kind.)
    {"WAIT_QOS_MAX_BB_MINS_PER_JOB", "AssocMaxBBMinutesPerJob", LimitOf::qos, Bound::minutes_per_job,
     Counted::burst_buffer},
    {"WAIT_QOS_MIN_BB", "QOSMinBB", LimitOf::qos, Bound::at_least, Counted::burst_buffer},
    {"WAIT_QOS_MAX_BB_PER_ACCT", "MaxBBPerAccount", LimitOf::qos, Bound::per_account, Counted::burst_buffer},
    {"WAIT_QOS_MAX_CPU_PER_ACCT", "MaxCpuPerAccount", LimitOf::qos, Bound::per_account, Counted::cpus},
    {"WAIT_QOS_MAX_ENERGY_PER_ACCT", "MaxEnergyPerAccount", LimitOf::qos, Bound::per_account,
     Counted::energy},
    {"WAIT_QOS_MAX_GRES_PER_ACCT", "MaxGRESPerAccount", LimitOf::qos, Bound::per_account, Counted::devices},
    {"WAIT_QOS_MAX_NODE_PER_ACCT", "MaxNodePerAccount", LimitOf::qos, Bound::per_account, Counted::nodes},
    {"WAIT_QOS_MAX_LIC_PER_ACCT", "MaxLicensePerAccount", LimitOf::qos, Bound::per_account,
     Counted::licences},
    {"WAIT_QOS_MAX_MEM_PER_ACCT", "MaxMemoryPerAccount", LimitOf::qos, Bound::per_account, Counted::memory},
    {"WAIT_QOS_MAX_UNK_PER_ACCT", "MaxUnknownPerAccount", LimitOf::qos, Bound::per_account,
     Counted::something},
    {"WAIT_QOS_MAX_JOB_PER_ACCT", "MaxJobsPerAccount", LimitOf::qos, Bound::account_jobs, Counted::none},
    {"WAIT_QOS_MAX_SUB_JOB_PER_ACCT", "MaxSubmitJobsPerAccount", LimitOf::qos, Bound::account_submitted,
     Counted::none},
    {"WAIT_ASSOC_GRP_BILLING", "AssocGrpBilling", LimitOf::account, Bound::group, Counted::billing},
    {"WAIT_ASSOC_GRP_BILLING_MIN", "AssocGrpBillingMinutes", LimitOf::account, Bound::group_minutes,
     Counted::billing},
    {"WAIT_ASSOC_GRP_BILLING_RUN_MIN", "AssocGrpBillingRunMinutes", LimitOf::account,
     Bound::group_run_minutes, Counted::billing},
    {"WAIT_ASSOC_MAX_BILLING_PER_JOB", "AssocMaxBillingPerJob", LimitOf::account, Bound::per_job,
     Counted::billing},
    {"WAIT_ASSOC_MAX_BILLING_PER_NODE", "AssocMaxBillingPerNode", LimitOf::account, Bound::per_node,
     Counted::billing},
    {"WAIT_ASSOC_MAX_BILLING_MINS_PER_JOB", "AssocMaxBillingMinutesPerJob", LimitOf::account,
     Bound::minutes_per_job, Counted::billing},
    {"WAIT_QOS_GRP_BILLING", "QOSGrpBilling", LimitOf::qos, Bound::group, Counted::billing},
    {"WAIT_QOS_GRP_BILLING_MIN", "QOSGrpBillingMinutes", LimitOf::qos, Bound::group_minutes,
     Counted::billing},
    {"WAIT_QOS_GRP_BILLING_RUN_MIN", "QOSGrpBillingRunMinutes", LimitOf::qos, Bound::group_run_minutes,
     Counted::billing},
    {"WAIT_QOS_MAX_BILLING_PER_JOB", "QOSMaxBillingPerJob", LimitOf::qos, Bound::per_job, Counted::billing},
    {"WAIT_QOS_MAX_BILLING_PER_NODE", "QOSMaxBillingPerNode", LimitOf::qos, Bound::per_node,
     Counted::billing},
    {"WAIT_QOS_MAX_BILLING_PER_USER", "QOSMaxBillingPerUser", LimitOf::qos, Bound::per_user,
     Counted::billing},
    {"WAIT_QOS_MAX_BILLING_MINS_PER_JOB", "QOSMaxBillingMinutesPerJob", LimitOf::qos, Bound::minutes_per_job,
     Counted::billing},
    {"WAIT_QOS_MAX_BILLING_PER_ACCT", "MaxBillingPerAccount", LimitOf::qos, Bound::per_account,
     Counted::billing},
    {"WAIT_QOS_MIN_BILLING", "QOSMinBilling", LimitOf::qos, Bound::at_least, Counted::billing},
});

consteval bool rows_follow_enums() {
  for (std::size_t i = 0; i < kCounted.size(); ++i)
    if (static_cast<std::size_t>(kCounted[i].counted) != i) return false;
  for (std::size_t i = 0; i < kBounds.size(); ++i)
    if (static_cast<std::size_t>(kBounds[i].bound) != i) return false;
  return true;
}
static_assert(rows_follow_enums(), "one row per Counted and per Bound, in their order");

template <class Rows, class Key>
const auto& row_of(const Rows& rows, Key key) {
  return rows[static_cast<std::size_t>(key)];
}

}  // namespace

std::vector<PendingReason> pending_limits() {
  std::vector<PendingReason> all;
  all.reserve(kLimits.size());
  for (const LimitRow& row : kLimits) {
    const BoundRow& bound = row_of(kBounds, row.bound);
    const std::string_view whose = row.of == LimitOf::account ? "account {account}" : "QOS {qos}";
    const std::string_view counted = row_of(kCounted, row.counted).text;
    PendingReason reason;
    reason.slurm_name = row.slurm_name;
    reason.word = row.word;
    reason.meaning = fmt::format(fmt::runtime(bound.meaning), whose, counted);
    reason.remedy = fmt::format(fmt::runtime(bound.remedy), whose, counted);
    reason.cure = bound.cure;
    reason.lasting = bound.lasting;
    all.push_back(std::move(reason));
  }
  return all;
}

}  // namespace sickbay
