// SPDX-License-Identifier: Apache-2.0
// Comparison of links and of nodes within one run of V.
#include "model/verify_noise.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sickbay {
namespace {

constexpr double kSameSeconds = 1;       ///< the ranks' clocks, and the end of one pair's turn
constexpr double kEnoughSegments = 500;  ///< of others: fewer say little about any rate
constexpr double kChance = 0.01;         ///< a link is one of many: a rarer noise happens in every tenth run

double rate(const LinkFigures& link) { return link.segments > 0 ? link.lost / link.segments : 0; }

bool shares_end(const LinkFigures& a, const LinkFigures& b) {
  return a.low == b.low || a.low == b.high || a.high == b.low || a.high == b.high;
}

bool same_seconds(const LinkFigures& a, const LinkFigures& b) {
  return a.to > 0 && b.to > 0 && a.from <= b.to + kSameSeconds && b.from <= a.to + kSameSeconds;
}

/// The links that can tell what was usual then.
std::vector<LinkFigures> measure_for(const LinkFigures& link, std::span<const LinkFigures> all) {
  std::vector<LinkFigures> then, ever;
  double segments = 0;
  for (const LinkFigures& other : all) {
    if (shares_end(link, other)) continue;
    ever.push_back(other);
    if (!same_seconds(link, other)) continue;
    then.push_back(other);
    segments += other.segments;
  }
  std::vector<LinkFigures>& chosen = segments >= kEnoughSegments ? then : ever;
  std::sort(chosen.begin(), chosen.end(),
            [](const LinkFigures& a, const LinkFigures& b) { return rate(a) < rate(b); });
  // The worst third aside: a few bad links must not make their own measure.
  chosen.resize(chosen.size() - (chosen.size() + 1) / 3);
  return chosen;
}

/// Variance over mean of the counts, 1 for independent losses.  Noise comes in bursts, and then so many
/// losses are one event.
double scatter(const std::vector<LinkFigures>& links, double usual) {
  if (links.size() < 3 || usual <= 0) return 1;
  double sum = 0;
  for (const LinkFigures& link : links) {
    const double expected = usual * link.segments;
    if (expected > 0) sum += (link.lost - expected) * (link.lost - expected) / expected;
  }
  return std::max(1.0, sum / static_cast<double>(links.size() - 1));
}

}  // namespace

bool noise_explains(const LinkFigures& link, std::span<const LinkFigures> all) {
  // On a machine that was not busy nothing is noise: there many lossy links are a switch.
  if (!link.busy) return false;
  const std::vector<LinkFigures> others = measure_for(link, all);
  double lost = 0, segments = 0;
  for (const LinkFigures& other : others) {
    lost += other.lost;
    segments += other.segments;
  }
  if (lost <= 0 || segments <= 0) return false;
  const double bursts = scatter(others, lost / segments);
  const auto counted = [&](double number) {
    return static_cast<std::uint64_t>(std::llround(number / bursts));
  };
  return at_least_by_chance(counted(link.lost), counted(link.segments), counted(lost), counted(segments)) >
         kChance;
}

double least_usual(const Spread& usual, double floor) {
  constexpr double kDeviations = 6;
  return usual.median - std::max(floor * usual.median, kDeviations * usual.deviation);
}

std::vector<OddFigure> below_their_kind(std::span<const NodeFigure> figures, double floor) {
  constexpr std::size_t kEnough = 5;
  std::map<std::string_view, std::vector<std::size_t>> kinds;
  for (std::size_t i = 0; i < figures.size(); ++i)
    if (!figures[i].kind.empty() && !figures[i].busy) kinds[figures[i].kind].push_back(i);
  std::vector<OddFigure> odd;
  for (const auto& [kind, members] : kinds) {
    if (members.size() < kEnough) continue;
    std::vector<double> values;
    for (const std::size_t i : members) values.push_back(figures[i].value);
    const Spread usual = *spread_of(values);
    const double least = least_usual(usual, floor);
    std::vector<OddFigure> low;
    for (const std::size_t i : members)
      if (figures[i].value < least) low.push_back({i, usual.median, least, members.size() - 1});
    // More than a quarter that is slow is another kind of machine, and nobody is named.
    if (4 * low.size() <= members.size()) odd.insert(odd.end(), low.begin(), low.end());
  }
  std::sort(odd.begin(), odd.end(), [](const OddFigure& a, const OddFigure& b) { return a.at < b.at; });
  return odd;
}

}  // namespace sickbay
