// SPDX-License-Identifier: Apache-2.0
// nhc.conf, the configuration of LBNL Node Health Check: lines `TARGET || CHECK`.
//
// A target names nodes: a glob, /an expression/, {ranges of names}, each negated by '!' before it.  A check
// is a line of shell; nhc_words.h makes its words.  NHC reads its lines by the shell's read: a backslash at
// the end joins the next line, and any other is gone before the check is a line of shell.  Source: NHC's
// README, "Configuration File Syntax" and "Match Strings" (read 2026-11-21).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::diagnose {

struct NhcLine {
  int line = 0;               ///< from 1
  std::string target, check;  ///< as written
};

inline constexpr std::size_t kMostNhcBytes = std::size_t{1} << 20;

/// Comments and empty lines are left out.  Errors: bad_input with the line: no "||", an open quote, too long.
Result<std::vector<NhcLine>> parse_nhc_conf(std::string_view text, std::string_view source);

/// Which nodes a target means.
struct NhcNodes {
  bool all = false;
  std::vector<std::string> names;  ///< sorted
  std::string unresolved;          ///< why it cannot be told; empty: it is told
  bool nobody = false;             ///< it is told: none of them (and `unresolved` says so)
};
/// `cluster`: all nodes there are, sorted; where it is empty only "*" and ranges are told.
NhcNodes resolve_nhc_target(std::string_view target, const std::vector<std::string>& cluster);

/// Bytes of NHC's sizes, whose bare numbers are kB: "32gb", "128MB", "1024".
std::optional<std::int64_t> parse_nhc_size(std::string_view word);

}  // namespace sickbay::diagnose
