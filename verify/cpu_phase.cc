// SPDX-License-Identifier: Apache-2.0
// The processor: right on every core, right over the whole class, and all of its time given to the thread.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "beat.h"
#include "ep.h"
#include "phases.h"
#include "seconds.h"
#include "turn.h"
#include "withheld.h"

namespace sickbay::verify {
namespace {

constexpr int kSliceLog2 = 18;                                // 7 to 14 ms a slice
constexpr std::uint64_t kCorePairs = std::uint64_t{1} << 14;  // under 1 ms a core

/// Runs the same pairs on each processor this thread may use; the numbers of those whose bits differ from
/// what most give.  All agree on a wrong answer only if all are broken alike, and then the sums find it.
std::vector<int> deviating_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  std::vector<std::pair<int, EpSums>> results;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) continue;
    results.emplace_back(cpu, ep_sums(0, kCorePairs));
  }
  sched_setaffinity(0, sizeof allowed, &allowed);
  const EpSums* usual = nullptr;
  std::ptrdiff_t most = 0;
  for (const auto& [cpu, sums] : results) {
    const auto same = std::count_if(results.begin(), results.end(),
                                    [&sums = sums](const auto& other) { return other.second == sums; });
    if (same > most) {
      most = same;
      usual = &sums;
    }
  }
  std::vector<int> odd;
  for (const auto& [cpu, sums] : results)
    if (!(sums == *usual)) odd.push_back(cpu);
  return odd;
}

bool near(double got, double published) { return std::abs((got - published) / published) <= kEpTolerance; }

/// Cores this task was promised by Slurm; 1 outside of it.
double promised_cores() {
  const char* text = std::getenv("SLURM_CPUS_ON_NODE");
  return text ? std::max(1, std::atoi(text)) : 1;
}

}  // namespace

Finding cpu_phase(const Options& options) {
  Finding found{.phase = "cpu", .unit = "Mpairs/s"};
  const EpClass& size = *ep_class(options.cpu_class);
  const Turn turn(options.turn_wait);
  const std::vector<int> odd = deviating_cores();

  const std::uint64_t slice = std::uint64_t{1} << kSliceLog2;
  const std::uint64_t slices = std::uint64_t{1} << (size.log2_pairs - kSliceLog2);
  EpSums sums;
  double best = 1e9;
  const CpuReading before = read_cpu();
  // By the thread's own time: a slice is longer than the scheduler's, so on a busy node none is undisturbed.
  for (std::uint64_t k = 0; k < slices; ++k) {
    const double begun = thread_seconds();
    sums += ep_sums(k * slice, slice);
    best = std::min(best, thread_seconds() - begun);
    tick();
  }
  const CpuLoss loss = cpu_loss(before, read_cpu());
  const double mean = loss.wall / static_cast<double>(slices);

  found.value = static_cast<double>(slice) / best * 1e-6;
  found.also = {{"best_slice_ms", best * 1e3}, {"mean_slice_ms", mean * 1e3}, {"wall_s", loss.wall},
                {"ran_s", loss.ran},           {"waited_s", loss.waited},     {"throttled_s", loss.throttled},
                {"stopped_s", loss.stopped},   {"stolen_s", loss.stolen},     {"slowdown", loss.slowdown()}};
  if (!odd.empty()) {
    found.ok = false;
    found.detail = fmt::format("processor {} computes another result than the others", fmt::join(odd, ", "));
  } else if (!near(sums.sx, size.sx) || !near(sums.sy, size.sy)) {
    found.ok = false;
    found.detail = fmt::format("sums of class {} are {:.15e} {:.15e}, published {:.15e} {:.15e}", size.name,
                               sums.sx, sums.sy, size.sx, size.sy);
  } else if (loss.slowdown() > options.slow_ratio) {
    found.slow = true;
    found.detail =
        fmt::format("work takes {:.2f} times what it needs: of {:.2f} s {:.2f} s throttled, {:.2f} s stopped",
                    loss.slowdown(), loss.wall, loss.throttled, loss.stopped);
  }
  // A quota is a fact even while rivals keep this thread from reaching it.
  const CgroupCpu cgroup = read_cgroup_cpu();
  if (found.ok && cgroup.quota_cores && *cgroup.quota_cores * options.slow_ratio < promised_cores()) {
    found.slow = true;
    found.detail += fmt::format("{}a quota of {:.2f} cores on cgroup {} where {:.0f} were promised",
                                found.detail.empty() ? "" : "; ", *cgroup.quota_cores, cgroup.quota_path,
                                promised_cores());
  }
  return found;
}

}  // namespace sickbay::verify
