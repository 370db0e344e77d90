// SPDX-License-Identifier: Apache-2.0
// Figures against the others and against the past.
#include "model/verify_speeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "model/verify_noise.h"

namespace sickbay {
namespace {

constexpr std::size_t kKept = 8;  // figures of one node
constexpr std::size_t kOthers = 5, kPast = 3;
constexpr std::size_t kMostKinds = 64;  // kinds are words of V's output: a script may print any

}  // namespace

std::string Speeds::judge(const std::string& kind, const std::string& node, const Json& figures) const {
  const auto of_kind = kinds.find(kind);
  if (of_kind == kinds.end()) return "";
  for (const SpeedRow& row : kSpeeds) {
    const auto of_phase = of_kind->second.find(std::string(row.phase));
    if (!figures[row.phase].is_number() || of_phase == of_kind->second.end()) continue;
    const double value = figures[row.phase].as_double();
    std::vector<double> others;
    for (const auto& [name, values] : of_phase->second)
      if (name != node && !values.empty()) others.push_back(values.back());
    if (others.size() >= kOthers) {
      const Spread usual = *spread_of(others);
      if (const double least = least_usual(usual, row.floor); value < least)
        return fmt::format(
            "slow in phase {}: {:.4g} {}, where {} other nodes of its kind have {:.4g} (at least {:.4g} "
            "is usual)",
            row.phase, value, row.unit, others.size(), usual.median, least);
    }
    const auto own = of_phase->second.find(node);
    if (own == of_phase->second.end() || own->second.size() < kPast) continue;
    const std::vector<double> past(own->second.begin(), own->second.end());
    const Spread usual = *spread_of(past);
    if (const double least = least_usual(usual, row.floor); value < least)
      return fmt::format("slow in phase {}: {:.4g} {}, where it had {:.4g} itself before (median of {})",
                         row.phase, value, row.unit, usual.median, past.size());
  }
  return "";
}

void Speeds::keep(const std::string& kind, const std::string& node, const Json& figures) {
  if (kind.empty() || (kinds.size() >= kMostKinds && !kinds.contains(kind))) return;
  for (const SpeedRow& row : kSpeeds) {
    if (!figures[row.phase].is_number()) continue;
    auto& values = kinds[kind][std::string(row.phase)][node];
    values.push_back(figures[row.phase].as_double());
    if (values.size() > kKept) values.pop_front();
  }
}

std::string Speeds::canonical_text() const {
  std::string text;
  for (const auto& [kind, phases] : kinds)
    for (const auto& [phase, nodes] : phases)
      for (const auto& [node, values] : nodes)
        text += fmt::format("speed {} {} {}: {:.6g}\n", kind, phase, node, fmt::join(values, " "));
  return text;
}

}  // namespace sickbay
