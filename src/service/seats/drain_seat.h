// SPDX-License-Identifier: Apache-2.0
// The seat of engine/drain: nodes ("node:n3") and their service.
#pragma once
#include "engine/drain/drain.h"
#include "service/seat.h"

namespace sickbay {

class DrainSeat final : public Seat {
 public:
  DrainSeat(const cluster::Cluster& cluster, const drain::Policy& policy)
      : cluster_(cluster), policy_(policy) {}

  std::string_view name() const override { return drain::kName; }
  void apply(const Event& event) override;
  Turn decide(const std::string& subject, TimePoint now) override;
  void started(TimePoint now) override { heard_.started = now; }
  bool heard(const std::string& node, TimePoint now) override;
  void touch_all() override;
  Wish wish() const override;
  LookedAtClosely closely() const override;
  std::vector<cluster::Claim> owed() const override { return drain::owed(state_); }
  void raise(Event& event) const override { drain::raise(state_, event); }
  std::string canonical_text() const override { return drain::canonical_text(state_); }
  void save(StateWriter& out) const override;
  void restore(StateReader& in) override;

  const drain::State& state() const { return state_; }
  const drain::Policy& policy() const { return policy_; }
  /// All that is looked at to say something about a node (drain/node_view.h).
  drain::Known known(TimePoint now) const { return {cluster_, state_, policy_, now, &heard_}; }

 private:
  const cluster::Cluster& cluster_;
  const drain::Policy& policy_;
  drain::State state_;
  drain::Heard heard_;
};

}  // namespace sickbay
