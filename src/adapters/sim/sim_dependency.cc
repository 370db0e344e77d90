// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/sim_dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "adapters/sim/sim_state.h"

namespace sickbay::sim {
namespace {

struct Row {
  std::string_view name;
  SimDependencyKind kind;
};
constexpr auto kKinds = std::to_array<Row>({
    {"after", SimDependencyKind::after},
    {"afterok", SimDependencyKind::after_ok},
    {"afternotok", SimDependencyKind::after_not_ok},
    {"afterany", SimDependencyKind::after_any},
    {"singleton", SimDependencyKind::singleton},
});

bool read_one(std::string_view text, std::vector<SimDependency>& into) {
  auto colon = text.find(':');
  const auto row = std::find_if(kKinds.begin(), kKinds.end(),
                                [&](const Row& r) { return r.name == text.substr(0, colon); });
  if (row == kKinds.end()) return false;
  if (row->kind == SimDependencyKind::singleton) {
    into.push_back({row->kind, 0});
    return colon == std::string_view::npos;
  }
  if (colon == std::string_view::npos) return false;
  while (colon != std::string_view::npos) {
    text.remove_prefix(colon + 1);
    colon = text.find(':');
    const auto digits = text.substr(0, colon);
    SimDependency one{.kind = row->kind, .job = 0};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), one.job);
    if (error != std::errc() || end != digits.data() + digits.size()) return false;
    into.push_back(one);
  }
  return true;
}

}  // namespace

std::string_view to_string(SimDependencyKind kind) {
  return std::find_if(kKinds.begin(), kKinds.end(), [&](const Row& r) { return r.kind == kind; })->name;
}

std::optional<SimDependencies> parse_dependencies(std::string_view text) {
  SimDependencies all;
  // sbatch(1): "," for all or "?" for any of them, and not both in one line.
  all.one_is_enough = text.find('?') != std::string_view::npos;
  while (true) {
    const auto end = text.find(all.one_is_enough ? '?' : ',');
    if (!read_one(text.substr(0, end), all.each)) return std::nullopt;
    if (end == std::string_view::npos) return all;
    text.remove_prefix(end + 1);
  }
}

DependencyState SimCluster::state_of(const SimDependency& dependency, const Job& waiting) const {
  using enum DependencyState;
  if (dependency.kind == SimDependencyKind::singleton) {
    for (const auto& [job_id, other] : jobs_) {
      if (other.get() == &waiting || other->info.uid != waiting.info.uid ||
          other->info.name != waiting.info.name)
        continue;
      if (other->running() || other->completing() || (other->pending() && job_id < waiting.info.job_id))
        return waits;
    }
    return satisfied;
  }
  const auto found = jobs_.find(dependency.job);
  if (found == jobs_.end()) return satisfied;
  const Job& other = *found->second;
  if (dependency.kind == SimDependencyKind::after) return other.pending() ? waits : satisfied;
  if (!other.ended() || other.completing()) return waits;
  const bool ok = other.info.state == "COMPLETED";
  if (dependency.kind == SimDependencyKind::after_any) return satisfied;
  return ok == (dependency.kind == SimDependencyKind::after_ok) ? satisfied : never;
}

/// What has come true is dropped; what cannot any more stays, and the job with it.
DependencyState SimCluster::settle_dependencies(Job& job) {
  using enum DependencyState;
  auto& each = job.dependencies.each;
  bool waiting = false, lost = false;
  for (auto one = each.begin(); one != each.end();) {
    const DependencyState state = state_of(*one, job);
    if (state == satisfied && job.dependencies.one_is_enough) {
      each.clear();
      return satisfied;
    }
    waiting = waiting || state == waits;
    lost = lost || state == never;
    one = state == satisfied ? each.erase(one) : one + 1;
  }
  if (each.empty()) return satisfied;
  if (job.dependencies.one_is_enough) return waiting ? waits : never;
  return lost ? never : waits;
}

void SimCluster::look_at_dependencies() {
  for (auto entry = dependent_.begin(); entry != dependent_.end();) {
    const auto found = jobs_.find(*entry);
    if (found == jobs_.end() || !found->second->pending()) {
      entry = dependent_.erase(entry);
      continue;
    }
    Job& job = *found->second;
    const DependencyState state = settle_dependencies(job);
    const std::string before = job.info.reason;
    if (!job.info.held)
      job.info.reason = state == DependencyState::waits   ? "Dependency"
                        : state == DependencyState::never ? "DependencyNeverSatisfied"
                                                          : "None";
    if (state == DependencyState::never && job.info.reason != before) tell(job);
    entry = state == DependencyState::satisfied ? dependent_.erase(entry) : std::next(entry);
  }
}

std::string SimCluster::dependency_text(const Job& job) const {
  std::string text;
  for (const SimDependency& one : job.dependencies.each) {
    if (!text.empty()) text += job.dependencies.one_is_enough ? '?' : ',';
    text += to_string(one.kind);
    if (one.job != 0) text += fmt::format(":{}", one.job);
    text += state_of(one, job) == DependencyState::never ? "(failed)" : "(unfulfilled)";
  }
  return text;
}

}  // namespace sickbay::sim
