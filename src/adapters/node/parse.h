// SPDX-License-Identifier: Apache-2.0
// The parsers of this folder: texts of the kernel and of other programs into values.
//
// Total: whatever the bytes, they give what can be understood and leave the rest out; nothing here fails.
// Bounds are those of the text.  One fuzz target runs them all (fuzz/fuzz_node_texts.cc).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/process_times.h"

namespace sickbay::node {

/// Lines `NAME: 12 kB` of /proc/meminfo and /proc/PID/status; kB are made bytes, the rest are counts.
std::optional<std::int64_t> field_of(std::string_view text, std::string_view name);

/// Sum of the sizes of all memory devices (type 17) of an SMBIOS table; nothing where it has none with a
/// size.
std::optional<std::int64_t> smbios_memory(std::string_view table);
/// How many of them have a size, that is a module in their slot; nothing likewise.
std::optional<std::int64_t> smbios_memory_modules(std::string_view table);

/// How many numbers a list such as "0-3,8,10-11" has; nothing where it is none.
std::optional<std::int64_t> count_list(std::string_view list);

/// Sum of the row `name` of /proc/interrupts; nothing where it has no such row.
std::optional<std::int64_t> interrupts_of(std::string_view text, std::string_view name);

/// One line of /proc/PID/stat.
struct ProcessStat {
  std::int64_t pid = 0, parent = 0;
  std::string name;
  char state = '?';
  std::int64_t ticks = 0;  ///< of user and system time
  std::int64_t nice = 0;
  std::int64_t started = 0;  ///< ticks after boot
  std::int64_t pages = 0;    ///< resident
};
std::optional<ProcessStat> parse_process_stat(std::string_view line);

/// What a thread ran and waited, "RAN WAITED SLICES" of /proc/PID/schedstat; nothing where it is none.
std::optional<ThreadCounts> parse_schedstat(std::string_view text);
/// Time of children that have ended, user and system, in ticks, of a line of /proc/PID/stat.
std::int64_t parse_children(std::string_view stat);
/// The file with the counters of the processor's control group, by /proc/PID/cgroup; "" where there is none.
std::string cpu_stat_file(std::string_view cgroup);

/// A line of /proc/PID/cgroup: "0::/PATH" is the unified hierarchy, which has no `controllers`;
/// "4:cpu,cpuacct:/PATH" an old one.
struct ControlGroup {
  std::string_view controllers, path;
};
/// The next line of `rest`, which loses it; nothing at its end.
std::optional<ControlGroup> next_control_group(std::string_view& rest);
/// Microseconds for which a control group was throttled, of either version's cpu.stat; -1 where it does not
/// say.
std::int64_t parse_throttled(std::string_view cpu_stat);

/// The first number of the line "Uid:" (real user) of /proc/PID/status.
std::optional<std::int64_t> parse_uid(std::string_view status);

/// The job of a process by its control groups (/proc/PID/cgroup): .../job_17/...; of a slurmstepd by its
/// title
/// ("slurmstepd: [17.batch]").
std::optional<std::int64_t> job_of_cgroup(std::string_view cgroup);
std::optional<std::int64_t> job_of_title(std::string_view title);

/// Two lines "Tcp: NAMES" and "Tcp: NUMBERS" of /proc/net/snmp, by name.
std::map<std::string, std::int64_t, std::less<>> parse_snmp(std::string_view text, std::string_view protocol);
/// Device of the default route in /proc/net/route with the lowest metric; "" where there is none.
std::string default_route(std::string_view text);

/// The hosts of SlurmctldHost, ControlMachine and BackupController in a slurm.conf: their addresses where
/// they have one in parentheses; and SlurmctldPort (first of a range; 6817 where it is not said).
struct SlurmControllers {
  std::vector<std::string> hosts;
  int port = 6817;
};
SlurmControllers parse_controllers(std::string_view slurm_conf);

/// Lines of /etc/passwd: name and number.
std::optional<std::string> user_name(std::string_view passwd, std::int64_t uid);

/// One disk's answer to `smartctl --json`.
struct SmartAnswer {
  std::optional<bool> passed;
  std::optional<std::int64_t> wear_percent, reallocated;
  std::string message;  ///< why there is no judgement
};
SmartAnswer parse_smart(std::string_view json);

/// One line of nvidia-smi's CSV, in the order of kGpuQuery (gpu.cc); nothing in a field that says [N/A].
struct GpuLine {
  std::string bus;  ///< PCI address, lower case
  std::optional<double> temperature;
  std::optional<std::int64_t> uncorrected;
  bool throttled = false;
};
std::vector<GpuLine> parse_gpus(std::string_view csv);

/// Power supplies in the output of `ipmitool sdr type "Power Supply"`.
struct PowerSupplies {
  std::int64_t all = 0, failed = 0;
};
PowerSupplies parse_power_supplies(std::string_view text);

/// Lines `name: value` of `upsc`.
std::optional<std::string> upsc_value(std::string_view text, std::string_view name);

/// A packet of SNTP (RFC 4330): the server's time in seconds since 1970 (fraction), nothing where it is no
/// answer of a server that knows the time.
std::optional<double> parse_sntp(std::string_view packet);

}  // namespace sickbay::node
