// SPDX-License-Identifier: Apache-2.0
// CSV as we write it (RFC 4180, but with "\n"): what a text looks like in a cell.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sickbay {

/// Appends `text` as a cell, quoted where it must be, and where it is empty: an empty cell without quotes is
/// no value at all.  Numbers and times need none of this.
void append_csv_text(std::string& line, std::string_view text);

/// The cells of one line, unquoted.  Nothing: a quote is not closed, or something stands behind it.  (A log
/// of jobs, whose cells may hold line ends, is read by workload/read/read_csv.cc.)
std::optional<std::vector<std::string>> csv_cells(std::string_view line);

}  // namespace sickbay
