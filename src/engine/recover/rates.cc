// SPDX-License-Identifier: Apache-2.0
#include "engine/recover/rates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/robust.h"

namespace sickbay::recover {
namespace {

constexpr auto kClassWords =
    std::to_array<std::string_view>({"component", "node", "job", "network", "cluster"});
static_assert(kClassWords.size() == kFaultClasses);

// By level.  Guesses, which a handful of faults outweighs: three of four faults of a component go with its
// restart, and what a restart of everything under a cell does not cure is half of the time not there.
constexpr auto kPriors = std::to_array<Beta>({{3, 1}, {2, 1}, {1, 1}, {1, 1}, {1, 1}});
static_assert(kPriors.size() == kLevels);
// Until a restart was measured or an agent has said what it takes; each level takes longer than the one
// below, so that the lowest is tried first.
constexpr auto kUsual = std::to_array<double>({10, 300, 600, 1500, 3600});  // s, by level
static_assert(kUsual.size() == kLevels);

constexpr std::size_t kTookKept = 15;  // restarts whose times are kept: old ones were of another system
constexpr double kLent = 4;            // observations that the word of other cells of a kind is worth at most

std::optional<Seconds> median(const std::vector<Micros>& took) {
  std::vector<double> values;
  for (const Micros one : took) values.push_back(Seconds(one).count());
  const auto middle = median_of(std::move(values));
  if (!middle) return std::nullopt;
  return Seconds(*middle);
}

Cures cures_of(const CellRecord* record, const std::string& fault) {
  if (record == nullptr) return {};
  const auto it = record->cures.find(fault);
  return it == record->cures.end() ? Cures{} : it->second;
}

std::string text_of(const CellRecord& r) {
  std::string text =
      fmt::format("failures {} recovered {} down {} took [", r.failures, r.recovered, r.down.count());
  for (const Micros took : r.took) text += fmt::format(" {}", took.count());
  text += " ]";
  for (const auto& [fault, cures] : r.cures)
    text += fmt::format(" ({}) {}/{}", fault, cures.cured, cures.tried);
  return text + "\n";
}

}  // namespace

std::string_view to_string(FaultClass of) { return kClassWords[static_cast<std::size_t>(of)]; }

std::optional<FaultClass> fault_class_from(std::string_view word) {
  const auto it = std::ranges::find(kClassWords, word);
  if (it == kClassWords.end()) return std::nullopt;
  return static_cast<FaultClass>(it - kClassWords.begin());
}

std::string fault_kind(FaultClass of, std::string_view component) {
  std::string kind(to_string(of));
  return component.empty() ? kind : kind.append(" ").append(component);
}

// Scales both counts, so the mean stays and only its weight is less.
Beta Beta::weakened(double most) const {
  const double weight = cures + fails;
  if (weight <= most) return *this;
  return {cures * most / weight, fails * most / weight};
}

Beta prior_of(Level level) { return kPriors[static_cast<std::size_t>(level)]; }
Seconds usual_time(Level level) { return Seconds(kUsual[static_cast<std::size_t>(level)]); }

std::vector<CellRecord*> Rates::records(const std::string& cell, const std::string& kind, Level level) {
  std::vector<CellRecord*> both{&kinds_[kind]};
  // Groups and domains are gone with their jobs: a record for each would grow without end.
  if (level <= Level::node) both.push_back(&cells_[cell]);
  return both;
}

void Rates::observed_at(TimePoint at) {
  if (first_ == kNoTime) first_ = at;
  last_ = std::max(last_, at);
}

void Rates::failed(const std::string& cell, const std::string& kind, Level level) {
  for (CellRecord* record : records(cell, kind, level)) ++record->failures;
}

void Rates::restarted(const std::string& cell, const std::string& kind, Level level, const std::string& fault,
                      bool cured, Micros took) {
  for (CellRecord* record : records(cell, kind, level)) {
    Cures& counts = record->cures[fault];
    ++counts.tried;
    if (cured) ++counts.cured;
    if (took <= Micros(0)) continue;
    if (record->took.size() == kTookKept) record->took.erase(record->took.begin());
    record->took.push_back(took);
  }
}

void Rates::recovered(const std::string& cell, const std::string& kind, Level level, Micros down) {
  for (CellRecord* record : records(cell, kind, level)) {
    ++record->recovered;
    record->down += down;
  }
}

void Rates::take_back_cure(const std::string& cell, const std::string& kind, Level level,
                           const std::string& fault) {
  for (CellRecord* record : records(cell, kind, level))
    // (The try stays counted: it was made, and did not cure.)
    if (Cures& counts = record->cures[fault]; counts.cured > 0) --counts.cured;
}

Seconds Rates::observed() const { return last_ - first_; }

std::optional<Seconds> Rates::mttf(const std::string& cell) const {
  const CellRecord* found = record(cell);
  if (found == nullptr || found->failures == 0) return std::nullopt;
  return observed() / found->failures;
}

std::optional<Seconds> Rates::mttr(const std::string& cell) const {
  const CellRecord* found = record(cell);
  if (found == nullptr || found->recovered == 0) return std::nullopt;
  return Seconds(found->down) / found->recovered;
}

std::optional<Seconds> Rates::restart_time(const std::string& cell, const std::string& kind) const {
  if (const CellRecord* own = record(cell); own != nullptr && !own->took.empty()) return median(own->took);
  if (const CellRecord* alike = record_of_kind(kind)) return median(alike->took);
  return std::nullopt;
}

double Rates::cure_rate(const std::string& cell, const std::string& kind, Level level,
                        const std::string& fault) const {
  const Cures own = cures_of(record(cell), fault);
  Cures others = cures_of(record_of_kind(kind), fault);
  // The kind's counts hold those of this cell, too: without this it would be heard twice.
  others.tried -= own.tried;
  others.cured -= own.cured;
  if (level > Level::node)
    return prior_of(level).with(others).mean();  // kept by kind alone: all of it counts
  // Weakened before the cell's own are added: a few faults of its own outweigh a thousand elsewhere.
  return prior_of(level).with(others).weakened(kLent).with(own).mean();
}

const CellRecord* Rates::record(const std::string& cell) const {
  const auto it = cells_.find(cell);
  return it == cells_.end() ? nullptr : &it->second;
}
const CellRecord* Rates::record_of_kind(const std::string& kind) const {
  const auto it = kinds_.find(kind);
  return it == kinds_.end() ? nullptr : &it->second;
}

std::string Rates::canonical_text() const {
  std::string text = fmt::format("rates from {} to {}\n", to_micros(first_), to_micros(last_));
  for (const auto& [name, record] : kinds_) text += fmt::format("kind {}: {}", name, text_of(record));
  for (const auto& [name, record] : cells_) text += fmt::format("cell {}: {}", name, text_of(record));
  return text;
}

}  // namespace sickbay::recover
