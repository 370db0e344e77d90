// SPDX-License-Identifier: Apache-2.0
#include "model/sbatch_reply.h"

#include <charconv>

#include "base/text.h"

namespace sickbay {

std::optional<JobId> parse_sbatch_reply(std::string_view line, bool parsable) {
  line = trimmed(line);
  if (!parsable) {
    constexpr std::string_view kSubmitted = "Submitted batch job ";
    if (!line.starts_with(kSubmitted)) return std::nullopt;
    line.remove_prefix(kSubmitted.size());
  }
  JobId job_id = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), job_id);
  if (error != std::errc() || job_id == 0) return std::nullopt;
  const std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
  // With --parsable "17;cluster", else "... 17 on cluster NAME".
  const bool fits = rest.empty() || (parsable ? rest[0] == ';' : rest.starts_with(" on cluster "));
  return fits ? std::optional(job_id) : std::nullopt;
}

}  // namespace sickbay
