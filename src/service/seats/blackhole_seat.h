// SPDX-License-Identifier: Apache-2.0
// The seat of engine/blackhole: nodes on which whatever starts fails ("node:n3").  It only speaks; whether
// the node leaves is the drain engine's, which hears the same events.
#pragma once
#include "engine/blackhole/blackhole.h"
#include "engine/identify/identify.h"
#include "service/seat.h"

namespace sickbay {

class BlackholeSeat final : public Seat {
 public:
  BlackholeSeat(const cluster::Cluster& cluster, const identify::Policy& policy)
      : cluster_(cluster), policy_(policy) {}

  std::string_view name() const override { return blackhole::kName; }
  void apply(const Event& event) override;
  Turn decide(const std::string& subject, TimePoint now) override;
  void touch_all() override;
  Wish wish() const override;
  LookedAtClosely closely() const override;
  std::string canonical_text() const override { return blackhole::canonical_text(state_); }
  void save(StateWriter& out) const override;
  void restore(StateReader& in) override;

  const blackhole::State& state() const { return state_; }

 private:
  const cluster::Cluster& cluster_;
  const identify::Policy& policy_;
  blackhole::State state_;
  TimePoint last_ = kNoTime;  ///< stamp of the last event
};

}  // namespace sickbay
