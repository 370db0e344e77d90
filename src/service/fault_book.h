// SPDX-License-Identifier: Apache-2.0
// FaultBook: the accounts of faults and repairs, by month, node and rule.
//
// The journal has each finding and each repair; this adds them up while it is replayed and as it grows, so
// that nobody reads a year of it to learn which rule drains most, which node is sick each month, and which
// repair never helps.  A fault counts once, from its first finding until its agent says that it is gone,
// however often it is told meanwhile.  Months are those of UTC, by sickbayd's stamps; the last kMonths are
// kept.  On the loop's thread only.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "model/event.h"

namespace sickbay {

/// Of node:n3: a repair that its agent made has ended: {boot_id, n, at, run, specification, rule, operation,
/// result, text, took_us}.
inline constexpr std::string_view kRepairEnded = "repair_ended";

class FaultBook {
 public:
  static constexpr std::size_t kMonths = 24;
  static constexpr std::size_t kMostRepairs = 20;  ///< of one node, the last ones

  /// Every event of the journal, in order, those of the replay first.
  void apply(const Event& event);

  /// [{"month": "2026-11", "node", "rule", "faults", "stands", "sick_s", "repairs": {"ok", "fault",
  /// "unknown"}}]: newest month first, then by node and rule; of `node` alone where one is named.  `stands`:
  /// the fault is there now; `sick_s`: how long faults that began in that month stood, up to `now`.
  Json months(TimePoint now, const std::string& node = "") const;
  /// The last repairs of a node, newest first: [{"at", "rule", "operation", "result", "text", "took_us"}].
  Json repairs(const std::string& node) const;

  /// All of it, for base/state_archive.h.
  template <class A>
  void walk(A& archive) {
    archive(months_, standing_, repairs_);
  }

 private:
  struct Row {
    static constexpr int kFields = 5;  ///< base/state_archive.h
    std::int64_t faults = 0, ok = 0, failed = 0, unknown = 0;
    Micros sick{0};
  };
  using Key = std::pair<std::string, std::string>;  ///< node, rule
  void note_finding(const Event& event);
  void note_repair(const std::string& node, const Event& event);
  Row& row(TimePoint at, const Key& key);

  std::map<std::string, std::map<Key, Row>> months_;
  std::map<Key, TimePoint> standing_;  ///< since when
  std::map<std::string, std::deque<Json>> repairs_;
};

}  // namespace sickbay
