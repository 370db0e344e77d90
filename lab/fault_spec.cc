// SPDX-License-Identifier: Apache-2.0
// The table of fault kinds, and the parsers of what is said about a fault.
#include "lab/fault_spec.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <array>
#include <charconv>

#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::lab {
namespace {

using enum FaultKind;

// One row per kind.  Columns: value, standard value, on ctl, --pid, --direction, stays.
constexpr auto kFaults = std::to_array<FaultRow>({
    {crash, "crash", ValueKind::none, "", false, false, false, true,
     "eth0 goes down, then every process of the node is killed; heal boots it: new boot id, "
     "munged, slurmd, the agent"},
    {network_down, "network-down", ValueKind::none, "", true, false, false, false,
     "eth0 goes down; processes live on"},
    {loss, "loss", ValueKind::percent, "5%", true, false, true, false,
     "packets are dropped at random: those sent (at each receiver), received, or both"},
    {cpu, "cpu", ValueKind::percent, "50%", true, true, false, false,
     "all processes of the node together (or one, --pid) get this share of ONE core, by the kernel's CFS "
     "quota"},
    {rank_kill, "rank-kill", ValueKind::signal, "SIGBUS", false, true, false, false,
     "one rank of every job step on the node is killed by this signal soon after it starts"},
    {disk_full, "disk-full", ValueKind::path, "/tmp", true, false, false, false,
     "a small full file system is mounted over the path (/tmp; 'spool' is slurmd's spool)"},
    {memory_hog, "memory-hog", ValueKind::size, "512M", true, false, false, false,
     "a process holds this much memory, and the node's memory cgroup leaves 128M to all the others"},
    {partition, "partition", ValueKind::machine, "", true, false, false, false,
     "all packets between the two machines are dropped, both ways"},
    {one_way, "one-way", ValueKind::machine, "", true, false, false, false,
     "all packets from the node to the other machine are dropped; those back arrive"},
    {slow_disk, "slow-disk", ValueKind::rate, "1M", true, false, false, false,
     "reads and synced writes of the node's processes are throttled to this many bytes per second"},
    {read_only, "read-only", ValueKind::path, "/tmp", true, false, false, false,
     "the path becomes read-only on this node ('spool' is slurmd's spool)"},
    {clock, "clock", ValueKind::seconds, "+300", false, false, false, false,
     "munged, slurmd, the agent, new jobs and `exec` on the node see a wall clock that is off by this many "
     "seconds"},
    {bitflip, "bitflip", ValueKind::count, "20", false, true, false, false,
     "in the memory of a rank on the node, one random bit flips this many times per second"},
    {kill_service, "kill-service", ValueKind::service, "", true, false, false, true,
     "SIGKILL to a daemon of this machine; heal starts it again"},
    {unmount, "unmount", ValueKind::path, "", true, false, false, false,
     "a mount of this machine goes away (lazily: what is open stays open); heal mounts it again"},
    {zombies, "zombies", ValueKind::count, "200", true, false, false, false,
     "a process of the node has this many dead children that it never waits for"},
    {storage_away, "storage-away", ValueKind::none, "", true, false, false, false,
     "the shared folder is not mounted on this machine: an empty folder is in its place"},
});

constexpr bool fault_rows_follow_enum() {
  for (std::size_t i = 0; i < kFaults.size(); ++i)
    if (static_cast<std::size_t>(kFaults[i].kind) != i) return false;
  return true;
}
static_assert(fault_rows_follow_enum(), "one row per FaultKind, in its order");

constexpr std::array<std::string_view, 3> kDirections = {"sent", "received", "both"};

struct SignalRow {
  std::string_view name;
  int number;
};
constexpr auto kSignals = std::to_array<SignalRow>({{"SIGBUS", SIGBUS},
                                                    {"SIGILL", SIGILL},
                                                    {"SIGSEGV", SIGSEGV},
                                                    {"SIGFPE", SIGFPE},
                                                    {"SIGABRT", SIGABRT},
                                                    {"SIGKILL", SIGKILL},
                                                    {"SIGTERM", SIGTERM},
                                                    {"SIGSTOP", SIGSTOP}});

Error usage(std::string what, std::string remedy) {
  return Error(ErrorCode::usage, std::move(what)).remedied_by(std::move(remedy));
}

// A number at the start of `text`; `rest` is what follows it.
bool parse_number(std::string_view text, double& number, std::string_view& rest) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (failed != std::errc{}) return false;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool plain_count(std::string_view text, double most) {
  double n = 0;
  std::string_view rest;
  return parse_number(text, n, rest) && rest.empty() && n >= 1 && n <= most;
}

// Whether a value is of its kind; what it should look like otherwise.
Status check_value(const FaultRow& row, std::string_view value) {
  switch (row.value) {
    case ValueKind::none:
      if (value.empty()) return {};
      return fail(usage(fmt::format("'{}' takes no value, but '{}' was given", row.name, value),
                        fmt::format("write just {}", row.name)));
    case ValueKind::percent:
      if (auto p = parse_percent(value); !p) return tl::unexpected(p.error());
      return {};
    case ValueKind::signal:
      if (auto s = parse_signal(value); !s) return tl::unexpected(s.error());
      return {};
    case ValueKind::size:
    case ValueKind::rate:
      if (auto s = parse_size(value); !s) return tl::unexpected(s.error());
      return {};
    case ValueKind::seconds: {
      double n = 0;
      std::string_view rest;
      if (parse_number(value, n, rest) && (rest.empty() || rest == "s") && n != 0 && n > -1e9 && n < 1e9)
        return {};
      return fail(
          usage(fmt::format("'{}' is not a shift of the clock", value), "give seconds, such as +300 or -20"));
    }
    case ValueKind::count:
      if (plain_count(value, 10'000)) return {};
      return fail(
          usage(fmt::format("{} is not a count", quote_for_message(value)), "give a number from 1 to 10000"));
    case ValueKind::path:
      if (value == "spool" || (!value.empty() && value[0] == '/')) return {};
      return fail(usage(fmt::format("{} is not a path", quote_for_message(value)),
                        "give an absolute path, or 'spool'"));
    case ValueKind::machine:
    case ValueKind::service:
      if (!value.empty()) return {};
      return fail(
          usage(fmt::format("'{}' needs a value", row.name),
                fmt::format("write {}={}", row.name, row.value == ValueKind::machine ? "n2" : "slurmd")));
  }
  return {};
}

}  // namespace

std::span<const FaultRow> fault_table() { return kFaults; }
const FaultRow& fault_row(FaultKind kind) { return kFaults[static_cast<std::size_t>(kind)]; }
std::string_view to_string(Direction d) { return kDirections[static_cast<std::size_t>(d)]; }

Result<FaultKind> parse_fault_kind(std::string_view name) {
  std::vector<std::string_view> names;
  for (const FaultRow& row : kFaults) {
    if (row.name == name) return row.kind;
    names.push_back(row.name);
  }
  const std::string near = did_you_mean(name, names);
  return fail(usage(fmt::format("there is no fault {}{}", quote_for_message(name),
                                near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
                    fmt::format("the kinds are {}", fmt::join(names, ", "))));
}

Result<FaultSpec> parse_fault(std::string_view node, std::string_view text) {
  const std::size_t eq = text.find('=');
  auto kind = parse_fault_kind(text.substr(0, eq));
  if (!kind) return tl::unexpected(kind.error());
  const FaultRow& row = fault_row(*kind);
  FaultSpec spec;
  spec.node = node;
  spec.kind = *kind;
  spec.value = eq == std::string_view::npos ? row.standard : text.substr(eq + 1);
  if (spec.node == "ctl" && !row.on_controller)
    return fail(usage(fmt::format("ctl cannot have the fault '{}'", row.name), "choose a node, such as n1"));
  if (auto good = check_value(row, spec.value); !good) return tl::unexpected(good.error());
  return spec;
}

Status set_fault_option(FaultSpec& spec, std::string_view name, std::string_view value) {
  double n = 0;
  std::string_view rest;
  if (name == "probability") {
    if (!parse_number(value, n, rest) || !rest.empty() || n <= 0 || n > 1)
      return fail(usage(fmt::format("{} is not a probability", quote_for_message(value)),
                        "give a number above 0, up to 1"));
    spec.probability = n;
  } else if (name == "for") {
    auto seconds = parse_seconds(value);
    if (!seconds) return tl::unexpected(seconds.error());
    if (*seconds < 1) return fail(usage("a fault lasts at least one second", "give --for 1 or more"));
    spec.for_seconds = static_cast<int>(*seconds);
  } else if (name == "pid") {
    if (!plain_count(value, 4'194'304))
      return fail(usage(fmt::format("{} is not a pid", quote_for_message(value)),
                        "give its pid as `ps` on the node shows it"));
    if (!spec.row().takes_pid)
      return fail(
          usage(fmt::format("'{}' strikes a whole machine; --pid means nothing to it", spec.row().name),
                "leave --pid out"));
    parse_number(value, n, rest);
    spec.pid = static_cast<int>(n);
  } else if (name == "direction") {
    for (std::size_t i = 0; i < kDirections.size(); ++i)
      if (kDirections[i] == value) {
        if (!spec.row().takes_direction)
          return fail(usage(fmt::format("'{}' has no direction", spec.row().name), "leave --direction out"));
        spec.direction = static_cast<Direction>(i);
        return {};
      }
    return fail(usage(fmt::format("{} is not a direction", quote_for_message(value)),
                      "choose sent, received or both"));
  } else {
    const std::array<std::string_view, 4> known = {"probability", "for", "pid", "direction"};
    const std::string near = did_you_mean(name, known);
    return fail(usage(fmt::format("a fault has no option {}{}", quote_for_message(name),
                                  near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
                      fmt::format("the options are {}", fmt::join(known, ", "))));
  }
  return {};
}

std::string FaultSpec::text() const {
  std::string all(row().name);
  if (!value.empty()) all += "=" + value;
  if (probability < 1) all += fmt::format(" probability={}", probability);
  if (for_seconds > 0) all += fmt::format(" for={}s", for_seconds);
  if (pid > 0) all += fmt::format(" pid={}", pid);
  if (row().takes_direction && direction != Direction::sent)
    all += fmt::format(" direction={}", to_string(direction));
  return all;
}

Result<double> parse_percent(std::string_view text) {
  double n = 0;
  std::string_view rest;
  if (parse_number(text, n, rest) && (rest == "%" || rest.empty()) && n > 0 && n <= 100) return n;
  return fail(usage(fmt::format("{} is not a percentage", quote_for_message(text)),
                    "give for example 5%, above 0 and up to 100"));
}

Result<std::int64_t> parse_size(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 7> kUnits = {{{"", 1.0},
                                                                          {"K", 1024.0},
                                                                          {"M", 1048576.0},
                                                                          {"G", 1073741824.0},
                                                                          {"k", 1024.0},
                                                                          {"m", 1048576.0},
                                                                          {"g", 1073741824.0}}};
  double n = 0;
  std::string_view rest;
  if (parse_number(text, n, rest) && n > 0)
    for (const auto& [unit, factor] : kUnits)
      if (rest == unit && n * factor >= 1024 && n * factor <= 1e15)
        return static_cast<std::int64_t>(n * factor);
  return fail(usage(fmt::format("{} is not a size", quote_for_message(text)),
                    "give bytes, or 64K, 512M, 2G; at least 1K"));
}

Result<double> parse_seconds(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"", 1.0}, {"s", 1.0}, {"ms", 0.001}, {"m", 60.0}, {"h", 3600.0}}};
  double n = 0;
  std::string_view rest;
  if (parse_number(text, n, rest) && n >= 0)
    for (const auto& [unit, factor] : kUnits)
      if (rest == unit && n * factor <= 1e7) return n * factor;
  return fail(usage(fmt::format("{} is not a duration", quote_for_message(text)),
                    "give for example 40s, 500ms or 2m"));
}

Result<int> parse_signal(std::string_view text) {
  std::vector<std::string_view> names;
  for (const SignalRow& row : kSignals) {
    if (text == row.name || text == row.name.substr(3)) return row.number;
    names.push_back(row.name);
  }
  const std::string near = did_you_mean(text, names);
  return fail(usage(fmt::format("there is no signal {}{}", quote_for_message(text),
                                near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
                    fmt::format("choose one of {}", fmt::join(names, ", "))));
}

}  // namespace sickbay::lab
