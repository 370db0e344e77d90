// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster/job_end.h"

#include <algorithm>
#include <csignal>
#include <string>
#include <thread>

#include "apps/cli/cases/experiment.h"
#include "apps/cli/child.h"
#include "base/words.h"
#include "model/slurm_state.h"

namespace sickbay::cli {
namespace {

using std::chrono::milliseconds;

constexpr int kInterrupted = 128 + SIGINT;

}  // namespace

std::optional<int> job_end(std::string_view shown) {
  if (shown.find("Invalid job id") != std::string_view::npos) return 1;
  const auto state = parse_job_state(shown_value(shown, "JobState"));
  if (!state || !is_terminal(*state)) return std::nullopt;
  // "3:0", "0:9": the code, and the signal.
  const std::string ended = shown_value(shown, "ExitCode");
  const std::size_t colon = ended.find(':');
  const auto code = to_integer(ended.substr(0, colon));
  const auto signal =
      colon == std::string::npos ? std::optional<std::int64_t>() : to_integer(ended.substr(colon + 1));
  if (code.value_or(0) != 0) return static_cast<int>(*code);
  if (signal.value_or(0) != 0) return 128 + static_cast<int>(*signal);
  return run_end(*state) == RunEnd::completed ? 0 : 1;
}

milliseconds pause_after(milliseconds waited) {
  return std::clamp<milliseconds>(waited / 30, std::chrono::seconds(1), std::chrono::seconds(30));
}

Result<int> wait_for_end(JobId job) {
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    const auto waited = std::chrono::steady_clock::now() - begun;
    std::this_thread::sleep_for(pause_after(std::chrono::duration_cast<milliseconds>(waited)));
    std::string shown;
    // (What it says of a job that is gone, or of a slurmctld that is away for a while, is no news for the
    // terminal.)
    const auto code = run_child(
        {{"sh", "-c", "exec scontrol --oneliner show job \"$1\" 2>&1", "sh", std::to_string(job)}, {}},
        [&](std::string_view line) { shown += line; });
    if (!code) return fail(code.error());
    if (*code == kInterrupted) std::raise(SIGINT);
    if (const auto ended = job_end(shown)) return *ended;
  }
}

}  // namespace sickbay::cli
