// SPDX-License-Identifier: Apache-2.0
// The table of a node's phases, and the node's name.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "phases.h"
#include "withheld.h"

namespace sickbay::verify {

namespace {

constexpr double kForeign = 0.3;  ///< of the processors in the hands of others: speeds say nothing

/// The phase, and whether others had the processor meanwhile.
Finding watched(Finding (*phase)(const Options&), const Options& options) {
  const CpuReading before = read_cpu();
  Finding found = phase(options);
  const CpuLoss loss = cpu_loss(before, read_cpu());
  // Who shares a core or the way to memory with others is slower, and waits for nobody.
  found.busy = found.busy || loss.busy_share() > options.busy_share || loss.foreign > kForeign;
  found.also.emplace_back("waited_share", loss.busy_share());
  found.also.emplace_back("foreign_share", loss.foreign);
  return found;
}

}  // namespace

void run_node(const Options& options, Reporter& reporter) {
  static constexpr std::pair<std::string_view, Finding (*)(const Options&)> kPhases[] = {
      {"cpu", cpu_phase},
      {"memory", memory_phase},
      {"membw", membw_phase},
      {"disk", disk_phase},
      {"storage", storage_phase}};
  for (const auto& [name, run] : kPhases)
    if (std::find(options.phases.begin(), options.phases.end(), name) != options.phases.end())
      reporter.report(watched(run, options));
}

int rank_of_slurm() {
  const char* text = std::getenv("SLURM_PROCID");
  return text ? std::atoi(text) : 0;
}

std::string node_name() {
  if (const char* name = std::getenv("SLURMD_NODENAME"); name && *name) return name;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  const std::string name = host;
  return name.substr(0, name.find('.'));
}

}  // namespace sickbay::verify
