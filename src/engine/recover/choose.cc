// SPDX-License-Identifier: Apache-2.0
#include "engine/recover/choose.h"

#include <algorithm>

namespace sickbay::recover {
namespace {

double chance(const Step& step) { return std::clamp(step.cures, 0.0, 1.0); }

}  // namespace

std::span<const Step> below_cluster(std::span<const Step> path) {
  // The path goes from the fault to the root, so all behind the first cell of that level is left out.
  const auto end = std::ranges::find(path, Level::cluster, &Step::level);
  return path.first(static_cast<std::size_t>(end - path.begin()));
}

std::vector<Seconds> expected_times(std::span<const Step> path, Seconds person, Nesting nesting) {
  std::vector<double> below(path.size(), 1.0);  // chance that nothing under it cures
  if (nesting == Nesting::nested)
    for (std::size_t k = 1; k < path.size(); ++k) below[k] = below[k - 1] * (1 - chance(path[k - 1]));
  std::vector<Seconds> times(path.size());
  // From the top down: what comes after the last step is a person.
  Seconds after = person;
  for (std::size_t k = path.size(); k-- > 0;) {
    const double fails = 1 - chance(path[k]);
    // (A first restart and one after others differ only where `nested`: `after` is what follows a restart
    // below.)
    times[k] = path[k].takes + below[k] * fails * after;
    after = path[k].takes + fails * after;
  }
  return times;
}

std::optional<Choice> choose(std::span<const Step> path, Seconds person, Nesting nesting) {
  path = below_cluster(path);
  if (path.empty()) return std::nullopt;
  const std::vector<Seconds> times = expected_times(path, person, nesting);
  // The first of equal ones, and so the lowest: it restarts less.
  const auto best = std::ranges::min_element(times);
  return Choice{static_cast<std::size_t>(best - times.begin()), *best};
}

std::optional<Choice> fixed_bottom_up(std::span<const Step> path, Seconds person, Nesting nesting) {
  path = below_cluster(path);
  if (path.empty()) return std::nullopt;
  return Choice{0, expected_times(path, person, nesting).front()};
}

std::optional<Choice> fixed_top_down(std::span<const Step> path, Seconds person, Nesting nesting) {
  path = below_cluster(path);
  if (path.empty()) return std::nullopt;
  return Choice{path.size() - 1, expected_times(path, person, nesting).back()};
}

}  // namespace sickbay::recover
