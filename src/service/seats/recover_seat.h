// SPDX-License-Identifier: Apache-2.0
// The seat of engine/recover: recoveries ("r3"), and "recoveries" for those that findings ask for.
#pragma once
#include "engine/recover/recover.h"
#include "service/seat.h"

namespace sickbay {

class RecoverSeat final : public Seat {
 public:
  RecoverSeat(const cluster::Cluster& cluster, const recover::Policy& policy)
      : cluster_(cluster), policy_(policy) {}

  std::string_view name() const override { return recover::kName; }
  void apply(const Event& event) override;
  Turn decide(const std::string& subject, TimePoint now) override;
  void touch_all() override;
  Wish wish() const override;
  std::vector<WatchedJob> watched_jobs() const override;
  LookedAtClosely closely() const override;
  void forget(const std::string& subject) override;
  std::string canonical_text() const override { return recover::canonical_text(state_); }
  void save(StateWriter& out) const override;
  void restore(StateReader& in) override;

  const recover::State& state() const { return state_; }
  const recover::Policy& policy() const { return policy_; }
  /// A number that no recovery has had, for who opens one.
  std::int64_t new_number();
  /// It could not be kept.
  void take_back_number() { last_given_ = state_.last; }

 private:
  const cluster::Cluster& cluster_;
  const recover::Policy& policy_;
  recover::State state_;
  std::int64_t last_given_ = 0;  ///< whose event is perhaps not applied yet
};

}  // namespace sickbay
