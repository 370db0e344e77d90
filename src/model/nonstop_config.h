// SPDX-License-Identifier: Apache-2.0
// nonstop.conf: the configuration of the nonstop service, as sites have it from Slurm's plugin
// slurmctld/nonstop.
//
// Lines of Key=Value, in any case of letters, several on a line; '#' to the end of the line is a comment, and
// a backslash at its end goes on in the next.  What the plugin ignored with a line in a log (a partition
// twice, a count that is none) or ended slurmctld for is an error with its line.  Which partitions there are
// is not known here. Source: nonstop.conf(5) as far as the paper has it, and what the plugin of 22.05 takes.
// Page: doc/formats/nonstop.md.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::wire {

struct HotSpare {
  std::string partition;    ///< "*": the whole cluster (ours)
  std::uint32_t count = 0;  ///< nodes held back; more than 0 (a count of 0 is no row)

  friend bool operator==(const HotSpare&, const HotSpare&) = default;
};

/// Who may drain nodes.
struct UserList {
  bool all = false;                ///< "ALL"
  std::vector<std::string> names;  ///< user names and numbers, in the order of the file

  bool empty() const { return !all && names.empty(); }
  std::string text() const;  ///< "alan,brenda", "ALL"; "" for nobody
  friend bool operator==(const UserList&, const UserList&) = default;
};

struct NonstopConfig {
  std::string control_addr;   ///< where the service runs; not empty
  std::string backup_addr;    ///< "": none
  std::uint16_t port = 6820;  ///< 1 or more
  std::uint16_t debug = 0;
  std::vector<HotSpare> hot_spares;   ///< each partition once, in the order of the file
  std::uint32_t max_spare_nodes = 0;  ///< replacements for one job; 0: no limit
  std::uint16_t time_limit_delay = 0, time_limit_drop = 0, time_limit_extend = 0;  ///< minutes
  UserList drain_allow;  ///< nobody by default; ALL where only drain_deny is given
  UserList drain_deny;   ///< only beside drain_allow ALL
  std::uint32_t read_timeout = 0, write_timeout = 0;  ///< seconds; 0: the program's own

  /// "batch:8,debug:1"; "" for none.
  std::string hot_spares_text() const;
  friend bool operator==(const NonstopConfig&, const NonstopConfig&) = default;
};

/// Reads the file's text; `source` is its name in messages.  Errors: bad_input "nonstop.conf:7: ..." with
/// cause and remedy: an unknown key ("did you mean"), one given twice, a value that is none, no ControlAddr,
/// and UserDrainDeny beside an UserDrainAllow that is not ALL.
Result<NonstopConfig> parse_nonstop_config(std::string_view text, std::string_view source = "nonstop.conf");

/// The file that has this configuration, one key a line; parse_nonstop_config of it gives the same.
std::string format_nonstop_config(const NonstopConfig& config);

}  // namespace sickbay::wire
