// SPDX-License-Identifier: Apache-2.0
// LossyWatch: of one run, what the connections of its nodes lost, what of it is news, and whom to ask more.
//
// The journal hears of it once, again when it is known whose link it is, and when half as much again was
// lost.  Where that is not known both ends are to send packets to hosts outside the run, once: that shows
// which of them loses.  Words are kept in memory only, as StarvedWatch does.  Source:
// doc/design/identify.md, "Lossy links".
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/hang/lossy.h"
#include "service/seat.h"

namespace sickbay {

class LossyWatch {
 public:
  LossyWatch() = default;
  /// `told`: what the journal has of the run already.
  explicit LossyWatch(const std::optional<LossyTold>& told);

  /// A node's word takes the place of the one before.
  void take(const std::string& node, TcpLosses losses) { words_[node] = std::move(losses); }
  /// Drops words of nodes that are not of the run, which has `nodes` (sorted).
  void keep_only(std::span<const std::string> nodes);
  /// What the journal is to hear now; said here, it is told.
  std::optional<hang::LossyNetwork> news();
  /// The ends of bad pairs, where the last news() could not tell whose link it is.
  const std::vector<std::string>& in_doubt() const { return in_doubt_; }

  static constexpr int kMostTold = 32;  ///< of one run

 private:
  std::map<std::string, TcpLosses> words_;  ///< by node
  std::optional<LossyTold> told_;
  int times_told_ = 0;
  std::vector<std::string> in_doubt_;
};

/// The body of `lossy_seen`, without its run.
Json to_json(const hang::LossyNetwork& network);

}  // namespace sickbay
