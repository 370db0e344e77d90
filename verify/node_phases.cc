// SPDX-License-Identifier: Apache-2.0
// The table of a node's phases, and the node's name.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "phases.h"

namespace sickbay::verify {

void run_node(const Options& options, Reporter& reporter) {
  static constexpr std::pair<std::string_view, Finding (*)(const Options&)> kPhases[] = {
      {"cpu", cpu_phase}, {"memory", memory_phase}, {"membw", membw_phase}, {"disk", disk_phase}};
  for (const auto& [name, run] : kPhases)
    if (std::find(options.phases.begin(), options.phases.end(), name) != options.phases.end())
      reporter.report(run(options));
}

std::string node_name() {
  if (const char* name = std::getenv("SLURMD_NODENAME"); name && *name) return name;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  const std::string name = host;
  return name.substr(0, name.find('.'));
}

}  // namespace sickbay::verify
