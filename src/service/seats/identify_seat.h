// SPDX-License-Identifier: Apache-2.0
// The seat of engine/identify: cases ("c17").
#pragma once
#include "engine/identify/identify.h"
#include "service/seat.h"

namespace sickbay {

class IdentifySeat final : public Seat {
 public:
  IdentifySeat(const cluster::Cluster& cluster, const identify::Policy& policy)
      : cluster_(cluster), policy_(policy) {}

  std::string_view name() const override { return identify::kName; }
  void apply(const Event& event) override;
  Turn decide(const std::string& subject, TimePoint now) override;
  void touch_all() override;
  Wish wish() const override;
  std::vector<WatchedJob> watched_jobs() const override;
  std::vector<RanksWatched> ranks_watched() const override;
  void forget(const std::string& subject) override;
  std::string canonical_text() const override { return identify::canonical_text(state_); }
  void save(StateWriter& out) const override;
  void restore(StateReader& in) override;

  const identify::State& state() const { return state_; }
  const identify::Policy& policy() const { return policy_; }
  /// A number that no case has had.
  std::int64_t new_case_number();

 private:
  void touch_on_nodes_of(const RunId& verification);

  const cluster::Cluster& cluster_;
  const identify::Policy& policy_;
  identify::State state_;
  std::int64_t last_given_ = 0;  ///< to who has posted a case that is not yet in the journal
};

}  // namespace sickbay
