// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/dependents.h"

#include <algorithm>
#include <vector>

#include "model/job_dependency.h"
#include "model/sbatch_options.h"

namespace sickbay::slurm {

std::string why_dependent(std::string_view dependency, std::string_view name, const DependentsOrder& order,
                          JobId array) {
  const JobDependencies waits = parse_job_dependencies(dependency);
  const bool named = std::ranges::any_of(
      waits.jobs, [&](JobId id) { return id == order.job_id || (array != 0 && id == array); });
  if (named) return "dependency";
  return waits.singleton && name == order.name ? "singleton" : "";
}

std::string dependency_of_submit_line(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const auto blank = std::min(line.find(' '), line.size());
    if (blank > 0) words.emplace_back(line.substr(0, blank));
    line.remove_prefix(std::min(blank + 1, line.size()));
  }
  if (words.empty()) return {};
  // (The first is the name of the program.)
  words.erase(words.begin());
  const auto parsed = parse_sbatch_line(words);
  if (!parsed) return {};
  const GivenOption* given = parsed->last("dependency");
  return given == nullptr ? std::string() : given->value.value_or("");
}

}  // namespace sickbay::slurm
