// SPDX-License-Identifier: Apache-2.0
// CSV as we write it (RFC 4180, but with "\n"): what a text looks like in a cell.
#pragma once
#include <string>
#include <string_view>

namespace sickbay {

/// Appends `text` as a cell, quoted where it must be, and where it is empty: an empty cell without quotes is
/// no value at all.  Numbers and times need none of this.
void append_csv_text(std::string& line, std::string_view text);

}  // namespace sickbay
