// SPDX-License-Identifier: Apache-2.0
#include "engine/succession/pairing.h"

#include <algorithm>

namespace sickbay::succession {
namespace {

constexpr std::size_t kMostLacking = 4096;  // commits that are told apart

}  // namespace

void Pairing::count() {
  const bool by_itself = alone_ && alone_known_ && !waits_;
  counts_ = std::max(counts_, by_itself ? committed_ : std::min(standby_, committed_));
}

void Pairing::committed(std::int64_t seq, Micros now) {
  if (seq <= committed_) return;
  committed_ = seq;
  // Where there are too many the newest count as old as those before: patience ends sooner, never later.
  if (lacking_.size() < kMostLacking)
    lacking_.emplace_back(seq, now);
  else
    lacking_.back().first = seq;
  count();
}

void Pairing::standby_has(std::int64_t seq) {
  if (seq > committed_) return;
  standby_seen_ = true;
  standby_ = std::max(standby_, seq);
  while (!lacking_.empty() && lacking_.front().first <= standby_) lacking_.pop_front();
  count();
}

void Pairing::alone_is_known() {
  if (!alone_) return;
  alone_known_ = true;
  count();
}

bool Pairing::tick(Micros now) {
  if (!alone_) {
    if (!is_late(now, patience_)) return false;
    alone_ = true;
    alone_known_ = waits_ = false;
    return true;
  }
  if (!standby_seen_) return false;
  // Not at half the patience and back: who is only just in time would go to and fro.
  if (is_late(now, patience_))
    waits_ = false;
  else if (!is_late(now, patience_ / 4))
    waits_ = true;
  count();
  if (!waits_ || standby_ < counts_) return false;
  alone_ = waits_ = false;
  return true;
}

Micros Pairing::wake_at() const {
  if (lacking_.empty() || (alone_ && !waits_)) return Micros::max();
  return lacking_.front().second + patience_;
}

}  // namespace sickbay::succession
