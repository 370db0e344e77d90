// SPDX-License-Identifier: Apache-2.0
// The table of facts and their words.
#include "engine/fleet/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sickbay::fleet {
namespace {

constexpr auto kRows = std::to_array<FactRow>({
    {"arch", FactKind::identity, "architecture", ""},
    {"cpu", FactKind::identity, "processor", ""},
    {"features", FactKind::identity, "features", ""},
    {"cores", FactKind::hardware, "processors", ""},
    {"memory_mib", FactKind::hardware, "memory", "MiB"},
    {"gpus", FactKind::hardware, "GPUs", ""},
    {"infiniband", FactKind::hardware, "InfiniBand adapters", ""},
    {"disks", FactKind::hardware, "disks", ""},
    {"memory_modules", FactKind::hardware, "memory modules", ""},
    {"link:", FactKind::number, "{}", "Mbit/s"},
    {"mount:", FactKind::mount, "{}", ""},
    {"kernel", FactKind::version, "kernel", ""},
    {"os", FactKind::version, "operating system", ""},
    {"version:", FactKind::version, "{}", ""},
    {"clock_ahead_ms", FactKind::clock, "clock", "ms"},
});
// A fact of a newer agent is compared as a version is, by its text alone.
constexpr FactRow kOther{"", FactKind::version, "", ""};

std::string noun_of(std::string_view fact) {
  const FactRow& row = fact_row(fact);
  const std::size_t hole = row.noun.find("{}");
  if (row.noun.empty()) return std::string(fact);
  if (hole == std::string_view::npos) return std::string(row.noun);
  return fmt::format("{}{}{}", row.noun.substr(0, hole), fact_subject(fact), row.noun.substr(hole + 2));
}

/// "191800 MiB", "6.1.0".
std::string with_unit(std::string_view fact, std::string_view value) {
  const FactRow& row = fact_row(fact);
  return fmt::format("{}{}{}", value, row.unit.empty() ? "" : " ", row.unit);
}

/// 9998 as "9,998".
std::string grouped(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

const FactRow& fact_row(std::string_view name) {
  for (const FactRow& row : kRows)
    if (row.prefix.ends_with(':') ? name.starts_with(row.prefix) : name == row.prefix) return row;
  return kOther;
}

std::string_view fact_subject(std::string_view name) {
  const auto colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

double number_of(std::string_view value) {
  double number = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
  return failed == std::errc{} && end == value.data() + value.size() && std::isfinite(number) ? number : 0;
}

bool alike(double a, double b) {
  // The firmware keeps a share of a node's memory for itself, which differs a little among likes.
  constexpr double kShare = 0.01;
  return std::abs(a - b) <= kShare * std::max(std::abs(a), std::abs(b));
}

std::string usual_words(std::string_view fact, std::string_view usual, std::size_t agree) {
  const std::string others = grouped(agree) + (agree == 1 ? " other" : " others");
  const bool mount = fact_row(fact).kind == FactKind::mount;
  if (usual.empty())
    return mount ? fmt::format("which {} do not", others) : fmt::format("which {} do not have", others);
  if (mount) return fmt::format("which {} mount", others);
  return fmt::format("where {} have {}", others, with_unit(fact, usual));
}

std::string odd_words(std::string_view fact, std::string_view value, std::string_view usual, bool one) {
  const bool mount = fact_row(fact).kind == FactKind::mount;
  if (value.empty() || (value == "0" && fact_row(fact).kind == FactKind::hardware))
    return mount ? fmt::format("{} {} ({})", one ? "lacks" : "lack", fact_subject(fact), usual)
                 : fmt::format("{} no {}", one ? "has" : "have", noun_of(fact));
  if (!mount) return fmt::format("{} {} {}", one ? "has" : "have", noun_of(fact), with_unit(fact, value));
  if (usual.empty()) return fmt::format("{} {} ({})", one ? "mounts" : "mount", fact_subject(fact), value);
  return fmt::format("{} {} as {} and not {}", one ? "mounts" : "mount", fact_subject(fact), value, usual);
}

bool fits(std::string_view pattern, std::string_view fact) {
  if (!pattern.ends_with('*')) return pattern == fact;
  return fact.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace sickbay::fleet
