// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/sim_processes.h"

#include <fmt/format.h>

#include <charconv>

namespace sickbay::sim {
namespace {

constexpr Micros kRunTime{3000};

Result<ProcessOutcome> outcome_of(const SimCluster& cluster, const ProcessSpec& spec) {
  const auto& argv = spec.argv;
  // `tail` is all that is run on a host, beside sickbay-folder: the end of a job's output is read with it.
  if (argv.size() != 5 || !argv[0].ends_with("tail") || argv[1] != "-c" || argv[3] != "--")
    return fail(ErrorCode::missing_program,
                fmt::format("no program '{}' on a simulated host", argv.empty() ? "" : argv[0]));
  std::size_t bytes = 0;
  std::from_chars(argv[2].data(), argv[2].data() + argv[2].size(), bytes);
  ProcessOutcome outcome;
  if (const auto text = cluster.read_output(argv[4])) {
    outcome.out = text->substr(text->size() - std::min(bytes, text->size()));
  } else {
    outcome.exit_code = 1;
    outcome.err = fmt::format("tail: cannot open '{}' for reading: No such file or directory\n", argv[4]);
  }
  return outcome;
}

}  // namespace

void SimProcesses::run(ProcessSpec spec, Done<ProcessOutcome> done) {
  loop_.at(loop_.now() + kRunTime, [this, caller = callers_, spec = std::move(spec), done = std::move(done)] {
    // The caller has died meanwhile.
    if (caller != callers_) return;
    if (spec.argv.empty() || !spec.argv[0].ends_with("sickbay-folder"))
      return done(outcome_of(cluster_, spec));
    const auto order = Json::parse(spec.input);
    SB_CHECK(order, "orders are ours");
    Json answer = cluster_.folders().answer(*order);
    if (on_folder_order) on_folder_order(*order, answer);
    ProcessOutcome outcome;
    outcome.out = answer.dump();
    done(std::move(outcome));
  });
}

}  // namespace sickbay::sim
