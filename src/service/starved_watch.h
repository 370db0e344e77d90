// SPDX-License-Identifier: Apache-2.0
// StarvedWatch: of one run, what its nodes told of how long their processes waited, and what of it is news.
//
// The journal hears of a starved node once, and again when it has lost half as much again: an hour that is
// waited through is some twenty events.  kMostTold nodes of a run at the most, for where there are many no
// single one is the cause; of nodes that do not stand apart only one, which shows that all waited.
// Words are kept in memory only: after a restart they come anew.  Source: doc/design/identify.md, "Starved
// processes".
#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/hang/starving.h"
#include "service/seat.h"

namespace sickbay {

class StarvedWatch {
 public:
  StarvedWatch() = default;
  /// `told`: what the journal has of the run already.
  explicit StarvedWatch(std::span<const StarvedTold> told);

  /// A node's word takes the place of the one before.
  void take(const std::string& node, ProcessTimes times) { words_[node] = std::move(times); }
  /// Drops words of nodes that are not of the run, which has `nodes` (sorted).
  void keep_only(std::span<const std::string> nodes);
  /// What the journal is to hear now; said here, it is told.
  std::vector<hang::StarvedNode> news(std::size_t nodes);

  static constexpr std::size_t kMostTold = 8;

 private:
  std::map<std::string, ProcessTimes> words_;  ///< by node
  std::map<std::string, Micros> told_;         ///< by node: what it had lost
  Micros told_of_all_{0};                      ///< likewise, of one that does not stand apart
};

/// The body of `starved_seen`, without its run.
Json to_json(const hang::StarvedNode& node);

}  // namespace sickbay
