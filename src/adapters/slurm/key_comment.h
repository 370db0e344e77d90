// SPDX-License-Identifier: Apache-2.0
// A key in a job's comment: "<user's own> sickbay:KEY".  Both sides of the socket pair read and write it.
#pragma once
#include <string>
#include <string_view>

namespace sickbay::slurm {

inline constexpr std::string_view kKeyMark = "sickbay:";

/// The comment of a job with `key`; the user's own words, if any, stay in front.
std::string comment_with_key(std::string_view own, std::string_view key);

/// `text` (a comment or a submit line) holds "sickbay:KEY" as a word of its own: "sickbay:c1.r2" is not in
/// "sickbay:c1.r21" and not in "xsickbay:c1.r2".
bool holds_key(std::string_view text, std::string_view key);

/// The key that `text` (as above) holds, the last one of several; empty: none.
std::string key_in(std::string_view text);

}  // namespace sickbay::slurm
