// SPDX-License-Identifier: Apache-2.0
// What a fault is called and what may be said about it: the table of kinds, and the one parser of
// "KIND[=VALUE]" with its options.  Pure; what a kind does to a machine stands in fault_effects.cc.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::lab {

enum class FaultKind : std::uint8_t {
  crash,
  network_down,
  loss,
  cpu,
  rank_kill,
  disk_full,
  memory_hog,
  partition,
  one_way,
  slow_disk,
  read_only,
  clock,
  bitflip,
  kill_service,
  unmount,
  zombies,
  storage_away,
};

/// What stands after the '='.
enum class ValueKind : std::uint8_t {
  none,
  percent,
  signal,
  size,
  rate,
  machine,
  seconds,
  service,
  path,
  count
};

struct FaultRow {
  FaultKind kind;
  std::string_view name;  ///< as typed
  ValueKind value;
  std::string_view standard;  ///< used when no value was given; empty: the value must be given
  bool on_controller;         ///< whether `ctl` can have it
  bool takes_pid;             ///< whether --pid means something
  bool takes_direction;
  bool stays;               ///< with --probability: stays after the job step that set it off, until healed
  std::string_view effect;  ///< what it really does, for --help and doc/lab.md
};
std::span<const FaultRow> fault_table();
const FaultRow& fault_row(FaultKind kind);

enum class Direction : std::uint8_t { sent, received, both };
std::string_view to_string(Direction direction);

struct FaultSpec {
  std::string node;
  FaultKind kind = FaultKind::crash;
  std::string value;       ///< checked, the table's standard filled in
  double probability = 1;  ///< per job step that starts on the node; 1: at once, without waiting for one
  int for_seconds = 0;     ///< heals itself after; 0: stays
  int pid = 0;             ///< one process, by its pid on the node; 0: all
  Direction direction = Direction::sent;
  const FaultRow& row() const { return fault_row(kind); }
  /// "loss=5%", with the options that are not the standard: "loss=5% direction=both for=20s".
  std::string text() const;
  friend bool operator==(const FaultSpec&, const FaultSpec&) = default;
};

/// "crash", "loss=5%".  Errors: usage, with "did you mean" for an unknown kind and what a value looks like.
Result<FaultSpec> parse_fault(std::string_view node, std::string_view kind_and_value);
/// One option: "probability", "for", "pid" or "direction" with its text.  Errors: usage.
Status set_fault_option(FaultSpec& spec, std::string_view name, std::string_view value);
/// The kind of a bare name ("loss"), for heal.  Errors: usage.
Result<FaultKind> parse_fault_kind(std::string_view name);

// Values, as the effects need them.
Result<double> parse_percent(std::string_view text);     ///< "5%" or "0.5%": 0 < x <= 100
Result<std::int64_t> parse_size(std::string_view text);  ///< "512M", "1G", "64K": bytes
Result<double> parse_seconds(std::string_view text);     ///< "40s", "500ms", "2m", "40"
Result<int> parse_signal(std::string_view text);         ///< "SIGBUS", "BUS"

}  // namespace sickbay::lab
