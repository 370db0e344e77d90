// SPDX-License-Identifier: Apache-2.0
// Rows of the built-in operations that collect from processes, services and jobs.
#include "model/builtin_operation_rows.h"

namespace sickbay {

std::vector<BuiltinOperation> builtin_process_rows() {
  using enum ValueType;
  constexpr std::string_view collect = "collect";
  constexpr auto here = BuiltinPlace::inline_;
  // One pass over /proc serves all of them for a second.
  constexpr std::string_view kScan =
      "10 us per process; one pass over /proc serves all such operations for a second";
  return {
      {"load",
       collect,
       here,
       "reads the load and when the node was booted",
       "20 us",
       "/proc/loadavg",
       {},
       {{"load_1", fraction, "processes", "running and waiting, mean of one minute", "at least 0"},
        {"load_5", fraction, "processes", "of five minutes", "at least 0"},
        {"load_15", fraction, "processes", "of fifteen minutes", "at least 0"},
        {"load_per_cpu", fraction, "processes", "load_1 by the processors online", "at least 0"},
        {"uptime", integer, "s", "since boot; null without /proc/uptime", "at least 0"}}},
      {"memory_hogs",
       collect,
       here,
       "finds processes that hold a large part of the memory",
       kScan,
       "/proc",
       {{"percent", percent, "50", "of the node's memory: more makes a hog"},
        {"size", integer, "0", "bytes: more makes a hog, too; 0: only the percentage counts"}},
       {{"memory_hogs", integer, "count", "such processes", "at least 0"},
        {"memory_hog_size", integer, "B", "resident memory of the largest process", "at least 0"},
        {"memory_hog_name", string, "", "its name", ""}}},
      {"zombies",
       collect,
       here,
       "counts dead processes that nobody has waited for",
       kScan,
       "/proc",
       {},
       {{"zombies", integer, "count", "such processes", "at least 0"},
        {"zombie_parent", integer, "pid", "the process with most of them; null where there is none",
         "at least 1"},
        {"zombie_parent_name", string, "", "its name; null likewise", ""}}},
      {"processes",
       collect,
       here,
       "finds processes of users who have no job on this node",
       kScan,
       "/proc",
       {{"first_uid", integer, "1000", "users from this number on are people"},
        {"except", string, "\"nobody\"", "user names that may always have processes, parted by commas"}},
       {{"processes", integer, "count", "all processes", "at least 1"},
        {"foreign_processes", integer, "count", "those of users without a job here", "at least 0"},
        {"foreign_users", string, "", "their users, parted by commas; \"\" where there is none", ""}}},
      {"service",
       collect,
       here,
       "looks whether a system service runs: by its control group, else its pid file, else a process of its "
       "name",
       "50 us; without control group and pid file a pass over /proc",
       "/proc",
       {{"name", string, "", "the service as systemd calls it, without .service"},
        {"pid_file", string, "\"\"", "its pid file; \"\": /run/NAME.pid or /run/NAME/NAME.pid"},
        {"program", string, "\"\"", "name of its process; \"\": the service's"}},
       {{"service_up", boolean, "", "it has a living process", ""},
        {"service_pid", integer, "pid", "the first of them; null where there is none", "at least 1"}}},
      {"jobs",
       collect,
       here,
       "reads the use of the jobs on this node: all together, and the one with most memory",
       kScan,
       "/proc; Slurm's control groups or slurmstepd processes tell jobs apart",
       {},
       {{"jobs", integer, "count", "jobs with processes here", "at least 0"},
        {"job_largest", integer, "job id", "the one with most memory; null where there is none",
         "at least 1"},
        {"job_user", string, "", "its user; null likewise", ""},
        {"job_state", character, "",
         "of its processes, the most awake: R runs, S sleeps, D waits for a disk, T is "
         "stopped, Z is dead; null likewise",
         ""},
        {"job_nice", integer, "", "highest priority of its processes, as nice counts; null likewise",
         "-20 to 19"},
        {"job_cpu_time", fraction, "s", "processor time of its living processes; null likewise",
         "at least 0"},
        {"job_memory", integer, "B", "resident memory of its processes; null likewise", "at least 0"},
        {"job_read", integer, "B", "read from disks; null where it may not be read", "at least 0"},
        {"job_written", integer, "B", "written to disks; null likewise", "at least 0"}}},
      {"job_network",
       collect,
       BuiltinPlace::thread,
       "reads a job's use of the network on this node: its open TCP connections, and what went over them; "
       "not "
       "what goes past TCP (RDMA)",
       "2 us per open file of its processes, 2 us per connection of the node",
       "/proc, sock_diag of the kernel; root",
       {{"job_largest", integer, "", "the job"}},
       {{"job_connections", integer, "count", "open TCP connections of its processes", "at least 0"},
        {"job_sent", integer, "B",
         "sent over them and acknowledged, since each was opened; null where its network is not the node's "
         "own, or an older kernel does not count",
         "at least 0"},
        {"job_received", integer, "B", "received over them; null likewise", "at least 0"}}},
      {"job_slurm",
       collect,
       BuiltinPlace::child,
       "asks Slurm for a job: its priority and state. Each call is a query of slurmctld: not for what all "
       "nodes "
       "do each minute",
       "20 ms, and a query of slurmctld",
       "the program squeue",
       {{"job_largest", integer, "", "the job"}},
       {{"job_priority", integer, "", "its priority, as Slurm reckons it", "at least 0"},
        {"job_slurm_state", string, "", "its state in Slurm, RUNNING say", ""},
        {"job_partition", string, "", "its partition", ""},
        {"job_qos", string, "", "its QOS", ""}}},
  };
}

}  // namespace sickbay
