// SPDX-License-Identifier: Apache-2.0
// sickbay-verify: the known-good program that is run to see whether nodes are good.
//
// Modes, so that a rank that dies takes no other down and its node is known: "node" talks to nobody, "reach"
// talks without MPI, "net" does nothing but talk by MPI.  "watch" runs the srun of such a step and ends it
// when somebody is waited for in vain.  Usage: options.cc.  Lines: report.h.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "beat.h"
#include "kernel_counters.h"
#include "machine_kind.h"
#include "phases.h"
#include "reach.h"
#include "watch.h"

namespace {

using namespace sickbay;
using namespace sickbay::verify;

constexpr int kUsageExit = 2;

int complain(const Error& error, int exit_code) {
  std::fprintf(stderr, "%s\n", error.message("sickbay-verify").c_str());
  return exit_code;
}

int record_baseline(const std::string& path) {
  const auto baseline = Baseline::record(std::cin);
  if (!baseline) return complain(baseline.error(), kUsageExit);
  if (const auto saved = baseline->save(path); !saved) return complain(saved.error(), kUsageExit);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 1 && (args[0] == "--help" || args[0] == "-h")) {
    std::fputs(usage_text().c_str(), stdout);
    return 0;
  }
  const auto options = parse_options(args);
  if (!options) return complain(Error(options.error()).remedied_by("see sickbay-verify --help"), kUsageExit);
  if (options->mode == "baseline") return record_baseline(options->baseline);
  Baseline baseline;
  if (!options->baseline.empty()) {
    auto loaded = Baseline::load(options->baseline);
    if (!loaded) return complain(loaded.error(), kUsageExit);
    baseline = std::move(*loaded);
  }
  if (options->mode == "net") return run_net(*options, baseline, &argc, &argv);
  if (options->mode == "watch")
    return run_watched(
        Watch(options->ranks, {options->silence, options->stuck, options->first}, options->nodes),
        options->grace, options->command);
  Reporter reporter(node_name(), rank_of_slurm(), std::move(baseline));
  const Beat beat(node_name(), rank_of_slurm(), options->beat);
  if (options->mode == "reach") {
    const auto place = step_place();
    if (!place) return complain(place.error(), kUsageExit);
    reporter.start("reach");
    run_reach(*options, *place, reporter);
    return reporter.done();
  }
  reporter.start("node", machine_kind());
  const KernelCounters before = read_kernel_counters();
  run_node(*options, reporter);
  return reporter.done(what_rose(before, read_kernel_counters()));
}
