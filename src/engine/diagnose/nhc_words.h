// SPDX-License-Identifier: Apache-2.0
// The words of a line of nhc.conf, as the shell would make them, as far as that needs no shell.
//
// Known are quotes, backslashes, variables that the file has set, $(( )) over whole numbers, and && between
// commands.  All else (substitution, pipes, redirection, variables that nobody has set) is the shell's, and
// is said so.  Counts of processors (HW_CORES and its kin) are of the node: an arithmetic word with one of
// them stays a word, "$((2*HW_CORES))", of which nhc_limit makes an expression over outputs of
// builtin:cpu_info.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sickbay::diagnose {

using NhcVariables = std::map<std::string, std::string, std::less<>>;

struct NhcWords {
  std::vector<std::vector<std::string>> commands;  ///< joined by &&; empty where only a shell can tell
  std::string shell;                               ///< why; "" where they are told
  bool open_quote = false;
};
NhcWords split_nhc_check(std::string_view check, const NhcVariables& variables);

/// A whole number that is not negative, or an arithmetic word, as an expression over {cpu_cores} and its kin.
/// `by_node`: it has one of these.  Nothing: neither.
struct NhcLimit {
  std::string expression;
  bool by_node = false;
};
std::optional<NhcLimit> nhc_limit(std::string_view word);

/// NAME=VALUE: the name; nothing where `word` is none.
std::optional<std::string_view> nhc_assigned(std::string_view word);

}  // namespace sickbay::diagnose
