// SPDX-License-Identifier: Apache-2.0
// The seat of engine/history, which remembers and wants nothing.
#pragma once
#include "engine/history/history.h"
#include "service/seat.h"

namespace sickbay {

class HistorySeat final : public Seat {
 public:
  explicit HistorySeat(const cluster::Cluster&) {}

  std::string_view name() const override { return history::kName; }
  void apply(const Event& event) override { history::apply(state_, event); }
  Turn decide(const std::string&, TimePoint) override { return {}; }
  void touch_all() override {}
  void forget(const std::string& subject) override {
    history::apply(state_, new_event(subject, kArchived, Json::object()));
  }
  std::string canonical_text() const override { return history::canonical_text(state_); }
  void save(StateWriter& out) const override;
  void restore(StateReader& in) override;

  const history::State& state() const { return state_; }

 private:
  history::State state_;
};

}  // namespace sickbay
