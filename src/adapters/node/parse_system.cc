// SPDX-License-Identifier: Apache-2.0
// Parsers of what the kernel and its configuration say: processes, network, users, Slurm, time.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "adapters/node/parse.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

// A job number behind `mark`, ended by a character of `ends` or the end.
std::optional<std::int64_t> number_behind(std::string_view text, std::string_view mark,
                                          std::string_view ends) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + mark.size());
  const auto job = to_integer(text.substr(0, text.find_first_of(ends)));
  // Job numbers of Slurm have 32 bits.
  if (!job || *job <= 0 || *job > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return job;
}

constexpr std::int64_t kMostTicks = std::int64_t{1} << 50;

// The word `number` (from 0) behind the name of a line of /proc/PID/stat.
std::int64_t stat_field(std::string_view stat, int number) {
  const std::size_t name = stat.rfind(')');
  if (name == std::string_view::npos) return 0;
  std::string_view rest = stat.substr(name + 1);
  for (int i = 0; i < number; ++i) (void)next_word(rest);
  return std::clamp<std::int64_t>(to_integer(trimmed(next_word(rest))).value_or(0), 0, kMostTicks);
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  // PID (NAME) STATE PPID ...; the name may hold blanks and parentheses: it ends at the last one.
  const std::size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessStat found;
  const auto pid = to_integer(trimmed(line.substr(0, open)));
  if (!pid || *pid <= 0) return std::nullopt;
  found.pid = *pid;
  found.name = line.substr(open + 1, close - open - 1);
  std::string_view rest = trimmed(line.substr(close + 1));
  const std::string_view state = next_word(rest);
  if (state.size() != 1) return std::nullopt;
  found.state = state[0];
  // Source: proc(5); fields count from 1, the state is the third.
  for (int field = 4; field <= 24; ++field) {
    const std::string_view word = next_word(rest);
    // Some fields (rsslim, 25) exceed 63 bits; none of these does.
    const auto value = to_integer(word);
    if (!value) return std::nullopt;
    const std::int64_t counted = std::clamp<std::int64_t>(*value, 0, std::int64_t{1} << 52);
    if (field == 4) found.parent = *value;
    if (field == 14 || field == 15) found.ticks += counted;
    if (field == 19) found.nice = std::clamp<std::int64_t>(*value, -20, 19);
    if (field == 22) found.started = counted;
    if (field == 24) found.pages = counted;
  }
  return found;
}

std::optional<std::int64_t> parse_uid(std::string_view status) {
  while (const auto line = next_line(status)) {
    if (!line->starts_with("Uid:")) continue;
    std::string_view rest = line->substr(4);
    const auto uid = to_integer(next_word(rest));
    if (!uid || *uid < 0 || *uid > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return uid;
  }
  return std::nullopt;
}

std::optional<std::int64_t> job_of_cgroup(std::string_view cgroup) {
  // cgroup v1: 4:memory:/slurm/uid_1000/job_17/step_0/task_0; v2:
  // 0::/system.slice/slurmstepd.scope/job_17/step_0
  return number_behind(cgroup, "/job_", "/\n");
}
std::optional<std::int64_t> job_of_title(std::string_view title) {
  if (!title.starts_with("slurmstepd: [")) return std::nullopt;
  return number_behind(title, "[", ".]");
}

std::map<std::string, std::int64_t, std::less<>> parse_snmp(std::string_view text,
                                                            std::string_view protocol) {
  std::map<std::string, std::int64_t, std::less<>> values;
  std::string_view names;
  while (const auto line = next_line(text)) {
    std::string_view rest = *line;
    const std::string_view head = next_word(rest);
    if (head.size() != protocol.size() + 1 || !head.starts_with(protocol) || head.back() != ':') continue;
    // The first of two lines with this head has the names, the second the numbers.
    if (names.empty()) {
      names = rest;
      continue;
    }
    while (!rest.empty()) {
      const std::string_view name = next_word(names);
      const auto value = to_integer(next_word(rest));
      if (!name.empty() && value) values.emplace(name, *value);
    }
    break;
  }
  return values;
}

std::string default_route(std::string_view text) {
  // Iface Destination Gateway Flags RefCnt Use Metric Mask ...
  std::string device;
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  while (const auto line = next_line(text)) {
    std::string_view rest = *line;
    const std::string_view name = next_word(rest);
    // Destination and mask of 0: the default route.
    if (next_word(rest) != "00000000") continue;
    for (int i = 0; i < 4; ++i) next_word(rest);
    const auto metric = to_integer(next_word(rest));
    if (!metric || next_word(rest) != "00000000" || *metric >= best) continue;
    best = *metric;
    device = name;
  }
  return device;
}

SlurmControllers parse_controllers(std::string_view slurm_conf) {
  SlurmControllers found;
  while (const auto line = next_line(slurm_conf)) {
    std::string_view rest = trimmed(line->substr(0, line->find('#')));
    const std::string_view key = trimmed(next_part(rest, '='));
    std::string_view value = trimmed(rest);
    if (equal_ignoring_case(key, "SlurmctldPort")) {
      // "6817-6820": any of them will do.
      const auto port = to_integer(trimmed(value.substr(0, value.find('-'))));
      if (port && *port > 0 && *port < 65536) found.port = static_cast<int>(*port);
    }
    const bool host = equal_ignoring_case(key, "SlurmctldHost") ||
                      equal_ignoring_case(key, "ControlMachine") ||
                      equal_ignoring_case(key, "BackupController");
    if (!host || value.empty()) continue;
    // n1 or n1(10.0.0.1)
    const std::string_view name = trimmed(next_part(value, '('));
    const std::string_view address = trimmed(next_part(value, ')'));
    const std::string_view which = address.empty() ? name : address;
    if (!which.empty()) found.hosts.emplace_back(which);
  }
  return found;
}

std::optional<std::string> user_name(std::string_view passwd, std::int64_t uid) {
  while (const auto line = next_line(passwd)) {
    std::string_view rest = *line;
    const std::string_view name = next_part(rest, ':');
    next_part(rest, ':');
    if (to_integer(next_part(rest, ':')) == uid && !name.empty()) return std::string(name);
  }
  return std::nullopt;
}

std::optional<double> parse_sntp(std::string_view packet) {
  // Source: RFC 4330, section 4.  Octet 0: leap indicator (3: not synchronised), version, mode (4: server);
  // octet 1: stratum (0: kiss of death); octets 40 to 47: transmit timestamp, 32.32 bits since 1900.
  if (packet.size() < 48) return std::nullopt;
  const auto at = [&](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(packet[i]));
  };
  if (at(0) >> 6 == 3 || (at(0) & 7) != 4 || at(1) == 0 || at(1) > 15) return std::nullopt;
  std::uint64_t whole = 0, part = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    whole = whole << 8 | at(40 + i);
    part = part << 8 | at(44 + i);
  }
  if (whole == 0) return std::nullopt;
  // Era 1 begins in 2036, with the top bit clear (RFC 4330, section 3).
  if ((whole & 0x80000000U) == 0) whole += std::uint64_t{1} << 32;
  const double seconds = static_cast<double>(whole) - 2208988800.0 + static_cast<double>(part) / 4294967296.0;
  if (seconds <= 0) return std::nullopt;  // before 1970: a server that has lost its clock must not judge ours
  return seconds;
}

std::optional<ThreadCounts> parse_schedstat(std::string_view text) {
  const auto ran = to_integer(next_word(text)), waited = to_integer(next_word(text));
  if (!ran || !waited || *ran < 0 || *waited < 0) return std::nullopt;
  ThreadCounts counts;
  counts.ran = std::chrono::nanoseconds(*ran);
  counts.waited = std::chrono::nanoseconds(*waited);
  return counts;
}

std::int64_t parse_children(std::string_view stat) {
  // STATE PPID PGRP SESSION TTY TPGID FLAGS MINFLT CMINFLT MAJFLT CMAJFLT UTIME STIME CUTIME CSTIME
  return stat_field(stat, 13) + stat_field(stat, 14);
}

std::optional<ControlGroup> next_control_group(std::string_view& rest) {
  const auto line = next_line(rest);
  if (!line) return std::nullopt;
  ControlGroup group;
  group.path = *line;
  (void)next_part(group.path, ':');
  group.controllers = next_part(group.path, ':');
  return group;
}

std::string cpu_stat_file(std::string_view cgroup) {
  std::string unified;
  while (auto group = next_control_group(cgroup)) {
    auto& [controllers, path] = *group;
    if (path.empty() || path.find("..") != std::string_view::npos) continue;
    if (controllers.empty()) unified = fmt::format("/sys/fs/cgroup{}/cpu.stat", path);
    while (!controllers.empty())
      if (next_part(controllers, ',') == "cpu") return fmt::format("/sys/fs/cgroup/cpu{}/cpu.stat", path);
  }
  return unified;
}

std::int64_t parse_throttled(std::string_view text) {
  while (const auto line = next_line(text)) {
    std::string_view rest = *line;
    const std::string_view name = next_word(rest);
    if (name != "throttled_usec" && name != "throttled_time") continue;
    const auto value = to_integer(next_word(rest));
    if (!value || *value < 0) return -1;
    return name == "throttled_usec" ? *value : *value / 1000;
  }
  return -1;
}

}  // namespace sickbay::node
