// SPDX-License-Identifier: Apache-2.0
// The seat of engine/patrol: its subjects are rounds, "p3", of which one is open at a time.
#pragma once
#include "engine/patrol/patrol.h"
#include "service/seat.h"

namespace sickbay {

class PatrolSeat final : public Seat {
 public:
  PatrolSeat(const cluster::Cluster& cluster, const patrol::Policy& policy)
      : cluster_(cluster), policy_(policy) {}

  std::string_view name() const override { return patrol::kName; }
  void apply(const Event& event) override;
  Turn decide(const std::string& subject, TimePoint now) override;
  void touch_all() override;
  Wish wish() const override;
  std::vector<WatchedJob> watched_jobs() const override;
  LookedAtClosely closely() const override;
  void forget(const std::string& subject) override;
  std::string canonical_text() const override { return patrol::canonical_text(state_); }
  void save(StateWriter& out) const override;
  void restore(StateReader& in) override;

  const patrol::State& state() const { return state_; }
  const patrol::Policy& policy() const { return policy_; }
  /// The number of a round that is asked for now; 0 while one is open, or was asked for a moment ago.
  std::int64_t new_round();
  /// It could not be kept.
  void take_back_round() { last_given_ = state_.last; }

 private:
  const cluster::Cluster& cluster_;
  const patrol::Policy& policy_;
  patrol::State state_;
  TimePoint last_ = kNoTime;     ///< stamp of the last event
  std::int64_t last_given_ = 0;  ///< whose event is perhaps not applied yet
};

}  // namespace sickbay
