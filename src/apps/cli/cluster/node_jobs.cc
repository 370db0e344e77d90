// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster/node_jobs.h"

#include <fmt/format.h>

#include <array>

#include "apps/cli/child.h"
#include "base/words.h"

namespace sickbay::cli {

Json parse_node_jobs(std::string_view text) {
  constexpr auto kFields = std::to_array<std::string_view>({"job", "user", "state", "time", "limit", "name"});
  Json jobs = Json::array();
  while (const auto line = next_line(text)) {
    std::string_view rest = *line;
    Json job = Json::object();
    for (std::size_t i = 0; i + 1 < kFields.size(); ++i)
      job.set(std::string(kFields[i]), next_part(rest, '\t'));
    job.set(std::string(kFields.back()), rest);  // a name may hold anything
    if (!job["job"].as_string().empty() && !job["limit"].as_string().empty()) jobs.push(std::move(job));
  }
  return jobs;
}

Result<Json> jobs_on_node(const std::string& node) {
  std::string text;
  auto code = run_child(
      {{"squeue", "-h", "-t", "running,completing,suspended,stopped", "-w", node, "-o", kNodeJobsFormat}, {}},
      [&](std::string_view line) { text += line; });
  if (!code) return fail(code.error());
  if (*code != 0)
    return fail(Error(ErrorCode::slurm_away, fmt::format("squeue failed with exit code {}", *code)));
  return parse_node_jobs(text);
}

}  // namespace sickbay::cli
