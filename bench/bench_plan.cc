// SPDX-License-Identifier: Apache-2.0
// Simulated years of a cluster (src/plan): 10,000 nodes that fail as those of large systems do, about once in
// a year, with jobs of 1,000 nodes; and 30 replications of that setting, which is what is compared with
// others.
#include "figure.h"
#include "plan/simulate.h"

int main() {
  using namespace sickbay;
  using bench::ThreadTime;
  plan::Model model = plan::memoryless(10'000, 8766, 6);
  model.repair.law = plan::RepairLaw::lognormal;
  model.repair.mu = 0.5;
  model.repair.sigma = 1.5;
  plan::Setting setting;
  setting.nodes = 10'000;
  setting.spares = 50;
  setting.job = {1000, 48, 2, 0.05, 0.1, true, 0};
  const struct {
    const char *rate, *time;
    double shape, spread;
  } rows[] = {{"events_exponential", "30_replications_exponential", 1, 0},
              {"events_weibull_gamma", "30_replications_weibull_gamma", 0.7, 0.8}};
  for (const auto& row : rows) {
    model.up.shape = row.shape;
    model.up.spread = row.spread;
    std::size_t events = 0;
    const double ms = bench::median_ms<ThreadTime>(
        7, [&] { events = 0; },
        [&] {
          for (std::uint64_t i = 0; i < 30; ++i) events += plan::simulate(model, setting, 1, i).events;
        });
    bench::require(events > 30 * 15'000, "a year has its failures and repairs");
    bench::figure(row.rate, static_cast<double>(events) / ms * 1000, "events/s");
    bench::figure(row.time, ms, "ms");
  }
}
