// SPDX-License-Identifier: Apache-2.0
// The seat of engine/fleet: one subject, "fleet", the comparison of all nodes.
#pragma once
#include "engine/fleet/fleet.h"
#include "service/seat.h"

namespace sickbay {

class FleetSeat final : public Seat {
 public:
  FleetSeat(const cluster::Cluster& cluster, const fleet::Policy& policy)
      : cluster_(cluster), policy_(policy) {}

  std::string_view name() const override { return fleet::kName; }
  void apply(const Event& event) override;
  Turn decide(const std::string& subject, TimePoint now) override;
  void touch_all() override;
  std::string canonical_text() const override { return fleet::canonical_text(state_); }
  void save(StateWriter& out) const override;
  void restore(StateReader& in) override;

  const fleet::State& state() const { return state_; }

 private:
  const cluster::Cluster& cluster_;
  const fleet::Policy& policy_;
  fleet::State state_;
  TimePoint due_ = kNoTime;  ///< when to compare; agents that start together tell one after the other
};

}  // namespace sickbay
