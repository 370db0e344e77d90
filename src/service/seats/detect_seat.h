// SPDX-License-Identifier: Apache-2.0
// The seat of engine/detect: nodes that others complain of ("node:n3"), and jobs whose nodes watch each other
// ("job:17").
#pragma once
#include "engine/detect/detect.h"
#include "service/seat.h"

namespace sickbay {

class DetectSeat final : public Seat {
 public:
  DetectSeat(const cluster::Cluster& cluster, const detect::Policy& policy,
             const cluster::BreakerPolicy& breaker)
      : cluster_(cluster), policy_(policy), breaker_(breaker) {}

  std::string_view name() const override { return detect::kName; }
  void apply(const Event& event) override;
  Turn decide(const std::string& subject, TimePoint now) override;
  void touch_all() override;
  Wish wish() const override;
  std::vector<WatchedJob> watched_jobs() const override;
  std::vector<SwimWanted> swim_groups() const override;
  std::string canonical_text() const override { return detect::canonical_text(state_); }
  void save(StateWriter& out) const override;
  void restore(StateReader& in) override;

  const detect::State& state() const { return state_; }
  const detect::Policy& policy() const { return policy_; }

 private:
  const cluster::Cluster& cluster_;
  const detect::Policy& policy_;
  const cluster::BreakerPolicy& breaker_;
  detect::State state_;
  TimePoint last_ = kNoTime;  ///< of the last event: complaints fade by it
};

}  // namespace sickbay
