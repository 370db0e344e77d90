// SPDX-License-Identifier: Apache-2.0
#include "plan/validate.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/seen.h"

namespace sickbay::plan {
namespace {

// What a change by this factor is: worth telling as the reason of a miss.
constexpr double kChange = 1.5;

double mean_repair(const Seen& seen) {
  double sum = 0, count = 0;
  for (const SeenFailure& f : seen.failures)
    if (f.length_known) sum += f.length, ++count;
  return count > 0 ? sum / count : 0;
}

std::size_t largest_burst(const Seen& seen) {
  std::size_t most = 0;
  for (const auto& burst : seen.bursts) most = std::max(most, burst.size());
  return most;
}

std::vector<std::string> reasons(const Seen& before, const Seen& after) {
  std::vector<std::string> why;
  const auto rate = [](const Seen& seen) { return static_cast<double>(seen.failures.size()) / seen.span; };
  const auto changed = [&](std::string_view what, double first, double second) {
    if (first <= 0) return;
    const double ratio = second / first;
    if (ratio > kChange || ratio < 1 / kChange)
      why.push_back(fmt::format("{} {:.2g} times that of the part before", what, ratio));
  };
  changed("the rate of failures was", rate(before), rate(after));
  changed("the mean repair was", mean_repair(before), mean_repair(after));
  const std::size_t first = largest_burst(before), second = largest_burst(after);
  if (static_cast<double>(second) > kChange * static_cast<double>(first) + 1)
    why.push_back(fmt::format("{} nodes failed at once, at most {} before", second, first));
  if (static_cast<double>(first) > kChange * static_cast<double>(second) + 1)
    why.push_back(fmt::format("at most {} nodes failed at once, {} before", second, first));
  if (why.empty()) why.emplace_back("no single cause stands out");
  return why;
}

}  // namespace

std::pair<std::size_t, std::size_t> Validation::held(std::string_view what) const {
  std::size_t all = 0, good = 0;
  for (const Cut& cut : cuts)
    for (const Check& check : cut.checks) {
      if (!what.empty() && check.what != what) continue;
      ++all;
      good += check.held();
    }
  return {all, good};
}

double Validation::width(std::string_view what) const {
  std::vector<double> ratios;
  for (const Cut& cut : cuts)
    for (const Check& check : cut.checks)
      if (check.what == what && check.low > 0) ratios.push_back(check.high / check.low);
  return ratios.empty() ? 1 : quantile(std::move(ratios), 0.5);
}

Validation validate(const FailureList& list, const std::function<std::size_t(const System&)>& nodes,
                    std::size_t replications, std::uint64_t seed) {
  Validation result;
  for (const System& system : list.systems) {
    for (const double share : kCuts) {
      const Micros span = system.until - system.from;
      const TimePoint at =
          system.from + Micros(static_cast<std::int64_t>(share * static_cast<double>(span.count())));
      const auto model = fit_model(system, nodes(system), system.from, at);
      if (!model) {
        result.left_out.push_back(
            fmt::format("{} at {:.0f} %: {}", system.name, 100 * share, model.error().line()));
        continue;
      }
      // The fit sees nothing behind the cut, not even how long an outage still took: seen_of() cuts it off.
      const Seen before = seen_of(system, system.from, at), after = seen_of(system, at, system.until);
      Cut cut;
      cut.system = system.name;
      cut.nodes = model->nodes;
      cut.fitted_failures = model->failures;
      cut.share = share;
      cut.fitted_h = before.span;
      cut.predicted_h = after.span;
      Setting setting;
      setting.nodes = model->nodes;
      setting.hours = after.span;
      // Only what fails after the cut is counted there, so nothing is down at first here, either.
      setting.warm_h = 0;
      setting.job.nodes = model->nodes;
      std::vector<double> figures[std::size(kPredicted)];
      for (std::size_t i = 0; i < replications; ++i) {
        const Outcome o = simulate(*model, setting, seed, i);
        figures[0].push_back(static_cast<double>(o.failures));
        figures[1].push_back(o.down_h);
        figures[2].push_back(static_cast<double>(o.most_down));
      }
      const double seen[] = {static_cast<double>(after.failures.size()), after.down_h,
                             static_cast<double>(after.most_down)};
      bool all_held = true;
      for (std::size_t i = 0; i < std::size(kPredicted); ++i) {
        cut.checks.push_back({kPredicted[i], quantile(figures[i], 0.05), quantile(figures[i], 0.5),
                              quantile(figures[i], 0.95), seen[i]});
        all_held = all_held && cut.checks.back().held();
      }
      if (!all_held) cut.why = reasons(before, after);
      result.cuts.push_back(std::move(cut));
    }
  }
  return result;
}

}  // namespace sickbay::plan
