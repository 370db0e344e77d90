// SPDX-License-Identifier: Apache-2.0
// Rates: what is known of cells from what happened to them.
//
// How often a cell fails and how long it is away (MTTF, MTTR), what its restart takes, and how likely it
// cures.  All of it is counted from the journal.  One node has few faults, so cells of one kind lend each
// other what they learned: what slurmd's restart does on the other nodes is the first guess here, and a few
// faults of the cell itself outweigh it.  Where nothing was counted the answer is nothing, and people are
// told "unknown".
//
// A cure that did not last was none: a cell that fails again within kBackAgain takes back the cure that was
// counted for it.  So what fails again and again begins higher.  Source: doc/design/recover.md, "Rates".
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "engine/recover/tree.h"

namespace sickbay::recover {

/// What kind of fault, by what may cure it (paper, 4.1).
enum class FaultClass : std::uint8_t {
  component,  ///< software of one node
  node,       ///< one node as a whole
  job,        ///< a process of a parallel job, on one of its nodes
  network,    ///< communication: its software, or a part of hardware
  cluster,    ///< all of it
};
inline constexpr std::size_t kFaultClasses = 5;
std::string_view to_string(FaultClass of);
std::optional<FaultClass> fault_class_from(std::string_view word);

/// Faults that the same restarts cure: "component slurmd", "network opensm", "node".  Not by class alone:
/// what a reboot does for one component says little of what it does for another.
std::string fault_kind(FaultClass of, std::string_view component);

/// A fault of the same cell within this after its cure: it was none.
inline constexpr std::chrono::hours kBackAgain{1};

struct Cures {
  static constexpr int kFields = 2;  ///< base/state_archive.h
  int tried = 0, cured = 0;
  friend bool operator==(const Cures&, const Cures&) = default;
};

/// A Beta distribution of a cure probability.
struct Beta {
  double cures = 1, fails = 1;
  double mean() const { return cures / (cures + fails); }
  Beta with(const Cures& counts) const { return {cures + counts.cured, fails + counts.tried - counts.cured}; }
  /// The same mean, worth at most so many observations.
  Beta weakened(double most) const;
};
/// Before anything was seen: the lower, the more likely it cures, so that the lowest is tried first.
Beta prior_of(Level level);

/// What is known of one cell.
struct CellRecord {
  static constexpr int kFields = 5;                 ///< base/state_archive.h
  int failures = 0;                                 ///< faults that were seen there
  int recovered = 0;                                ///< of these, how many came to an end
  Micros down{0};                                   ///< of those, from the first sign to the end
  std::vector<Micros> took;                         ///< its last restarts, oldest first
  std::map<std::string, Cures, std::less<>> cures;  ///< by fault_kind()
  friend bool operator==(const CellRecord&, const CellRecord&) = default;
};

class Rates {
 public:
  // What happened.  `cell` is Cell::name, `kind` is Cell::kind(); groups and domains, which are gone with
  // their job, are kept by kind alone.
  void observed_at(TimePoint at);  ///< the journal tells of this moment: the time of observation
  void failed(const std::string& cell, const std::string& kind, Level level);
  /// `took` 0: not measured.
  void restarted(const std::string& cell, const std::string& kind, Level level, const std::string& fault,
                 bool cured, Micros took);
  void recovered(const std::string& cell, const std::string& kind, Level level, Micros down);
  /// The last cure of the cell was none.
  void take_back_cure(const std::string& cell, const std::string& kind, Level level,
                      const std::string& fault);

  // What follows.
  /// Time observed by failures; nothing where it never failed.
  std::optional<Seconds> mttf(const std::string& cell) const;
  std::optional<Seconds> mttr(const std::string& cell) const;
  Seconds observed() const;
  /// The median of its last restarts; else of its kind's; else nothing.
  std::optional<Seconds> restart_time(const std::string& cell, const std::string& kind) const;
  /// q of choose.h: its own counts over those of its kind over the prior of its level.
  double cure_rate(const std::string& cell, const std::string& kind, Level level,
                   const std::string& fault) const;

  /// Null where nothing was counted.
  const CellRecord* record(const std::string& cell) const;
  const CellRecord* record_of_kind(const std::string& kind) const;
  const std::map<std::string, CellRecord, std::less<>>& cells() const { return cells_; }

  std::string canonical_text() const;
  /// All of it, for base/state_archive.h.
  template <class A>
  void walk(A& archive) {
    archive(first_, last_, cells_, kinds_);
  }

 private:
  // The records that one happening is counted in.
  std::vector<CellRecord*> records(const std::string& cell, const std::string& kind, Level level);
  TimePoint first_ = kNoTime, last_ = kNoTime;
  std::map<std::string, CellRecord, std::less<>> cells_, kinds_;
};

/// What is taken where neither a measurement nor anybody's word is there.
Seconds usual_time(Level level);

}  // namespace sickbay::recover
