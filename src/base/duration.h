// SPDX-License-Identifier: Apache-2.0
// Durations as text, three kinds: Slurm's time limits, what sacct counts, and the house's own short form.
//
// One number means different things in each (`30` is 30 minutes to sbatch and nothing to sacct), so each has
// a parser of its own, with its printer.  All refuse what would overflow; none knows negative durations.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay {

/// A limit on run time.  Slurm keeps whole minutes; the seconds are as written.
struct TimeLimit {
  enum class Kind : std::uint8_t {
    limited,          ///< `length` holds
    unlimited,        ///< UNLIMITED, INFINITE
    partition_limit,  ///< none given: the partition's holds
  };
  Kind kind = Kind::partition_limit;
  std::chrono::seconds length{0};  ///< 0 unless limited

  static TimeLimit of(std::chrono::seconds length) { return {Kind::limited, length}; }
  static TimeLimit unlimited() { return {Kind::unlimited, std::chrono::seconds(0)}; }

  /// What Slurm makes of it: rounded up.
  std::chrono::minutes minutes() const { return std::chrono::ceil<std::chrono::minutes>(length); }
  friend bool operator==(const TimeLimit&, const TimeLimit&) = default;
};

/// The longest limit that slurm.h's 32 bits of minutes hold; the two values above it are INFINITE and NO_VAL.
inline constexpr std::chrono::minutes kMaxTimeLimit{0xfffffffdLL};

/// Slurm's forms MM, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS (sbatch(1), --time), UNLIMITED, INFINITE, -1,
/// and scontrol's Partition_Limit.  As in Slurm, a field may be over 59: 90:00 are 90 minutes.
/// Errors: bad_input, also over kMaxTimeLimit.
Result<TimeLimit> parse_time_limit(std::string_view text);
/// "1-02:30:00", "00:30:00", "UNLIMITED", "Partition_Limit", as scontrol prints them; parses back.
std::string format_time_limit(const TimeLimit& limit);

/// sacct's Elapsed, Timelimit, TotalCPU, UserCPU, SystemCPU: MM:SS, HH:MM:SS, D-HH:MM:SS, each with up to six
/// digits of fraction.  Fields after the first are at most 59 (hours after days: 23).
/// Errors: bad_input.  An empty column is no duration: ask before.
Result<std::chrono::microseconds> parse_elapsed(std::string_view text);
/// "00:01:12", "1-00:00:00.500": always with hours; three or six digits of fraction where there is one.
std::string format_elapsed(std::chrono::microseconds elapsed);

/// The house's short form, for configuration and command lines: a whole number and us, ms, s, m, h or d.
/// Errors: bad_input.
Result<std::chrono::microseconds> parse_duration(std::string_view text);
/// "250ms", "90s", "2h": the largest unit that leaves no rest; parses back.
std::string format_duration(std::chrono::microseconds duration);

/// For people: "850 ms", "2.5 s", "1 min 12 s", "3 d 4 h".  Two units at most, the rest cut off.
std::string describe_duration(std::chrono::microseconds duration);

}  // namespace sickbay
