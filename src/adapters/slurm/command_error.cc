// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/command_error.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sickbay::slurm {

Error command_error(const ProcessOutcome& outcome, std::string_view program, std::string_view unclear) {
  // Its last line says what went wrong; lines before it may be warnings.
  const std::string heads[] = {std::string(program) + ": ", "error: ", "fatal: "};
  std::string words;
  std::string_view rest = outcome.err;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    std::string_view line = trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    for (const std::string& head : heads)
      if (line.starts_with(head)) line.remove_prefix(head.size());
    if (!line.empty()) words += (words.empty() ? "" : "; ") + std::string(line);
  }
  // The end of it: there the reason stands.
  if (words.size() > 500) words = words.substr(words.size() - 500);
  if (outcome.timed_out)
    return Error(ErrorCode::timed_out, fmt::format("{} did not end in time", program)).because(words);
  const auto says = [&](std::string_view text) { return words.find(text) != std::string::npos; };
  if (says("Unable to contact slurm controller") || says("onnection refused"))
    return Error(ErrorCode::slurm_away, fmt::format("{} cannot reach slurmctld: {}", program, words));
  if (says("timed out") || says("Zero Bytes were transmitted") || says("receive failed") ||
      outcome.signal != 0)
    return Error(ErrorCode::timed_out, fmt::format("{} had no answer: {}", program, words))
        .because(std::string(unclear));
  if (says("Munge") || says("authentication"))
    return Error(ErrorCode::munge_away, fmt::format("{} cannot sign its request: {}", program, words));
  return Error(ErrorCode::refused_by_slurm, fmt::format("{} refused: {}", program, words));
}

}  // namespace sickbay::slurm
