// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/script_options.h"

#include "base/text.h"

namespace sickbay::slurm {
namespace {

constexpr std::string_view kMark = "#SBATCH";

/// Calls `each` for the lines that sbatch looks at, with their line ends; returns the offset where the
/// script's own text begins.
template <class Each>
std::size_t option_lines(std::string_view script, Each each) {
  std::size_t at = 0;
  while (at < script.size()) {
    const auto newline = script.find('\n', at);
    const auto end = newline == std::string_view::npos ? script.size() : newline + 1;
    const std::string_view line = script.substr(at, end - at);
    const std::string_view rest = trimmed(line);
    // sbatch stops at the first line that is no comment.
    if (!rest.empty() && rest[0] != '#') break;
    each(line);
    at = end;
  }
  return at;
}

/// One word as sbatch reads it back from an #SBATCH line: in double quotes a backslash takes the next
/// character as it is.
std::string in_quotes(std::string_view word) {
  std::string out = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string with_script_options(std::string_view script, const std::vector<GivenOption>& options,
                                const std::function<bool(const GivenOption&)>& keep) {
  std::string kept(kMark);
  for (const GivenOption& option : options)
    if (keep(option)) kept += " " + in_quotes(option.text());
  std::string out;
  bool first = true;
  const std::size_t body = option_lines(script, [&](std::string_view line) {
    // Lines keep their numbers, since errors of the script name them: the first takes all options, the others
    // become comments.
    if (!line.starts_with(kMark)) {
      out += line;
    } else if (first) {
      first = false;
      out += kept;
      if (line.ends_with('\n')) out += '\n';
    } else {
      out.append("#").append(line);
    }
  });
  return out.append(script.substr(body));
}

bool has_burst_buffer_line(std::string_view script) {
  bool found = false;
  option_lines(script, [&](std::string_view line) {
    found = found || line.starts_with("#BB ") || line.starts_with("#DW ") || line.starts_with("#BB_LUA");
  });
  return found;
}

}  // namespace sickbay::slurm
