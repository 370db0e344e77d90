// SPDX-License-Identifier: Apache-2.0
// The seat of engine/nonstop: running jobs ("j17"), the spare pools ("spares") and nodes in the state FAIL.
#pragma once
#include "engine/nonstop/answer.h"
#include "engine/nonstop/nonstop.h"
#include "service/seat.h"

namespace sickbay {

class NonstopSeat final : public Seat {
 public:
  NonstopSeat(const cluster::Cluster& cluster, const nonstop::Policy& policy)
      : cluster_(cluster), policy_(policy) {}

  std::string_view name() const override { return nonstop::kName; }
  void apply(const Event& event) override;
  Turn decide(const std::string& subject, TimePoint now) override;
  void touch_all() override;
  Wish wish() const override;
  std::vector<WatchedJob> watched_jobs() const override;
  LookedAtClosely closely() const override;
  std::string canonical_text() const override { return nonstop::canonical_text(state_); }
  void save(StateWriter& out) const override;
  void restore(StateReader& in) override;

  const nonstop::State& state() const { return state_; }
  const nonstop::Policy& policy() const { return policy_; }
  /// nonstop::answer() over what is known now.
  nonstop::Answer answer(const nonstop::Caller& caller, const wire::Request& request,
                         const std::string& token, TimePoint now) const {
    return nonstop::answer(cluster_, state_, policy_, caller, request, token, now);
  }

 private:
  const cluster::Cluster& cluster_;
  const nonstop::Policy& policy_;
  nonstop::State state_;
};

}  // namespace sickbay
