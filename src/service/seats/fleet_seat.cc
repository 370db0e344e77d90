// SPDX-License-Identifier: Apache-2.0
#include "service/seats/fleet_seat.h"

namespace sickbay {
namespace {

// All that is told within it is one comparison: it goes through all nodes.
constexpr std::chrono::seconds kGather{5};

}  // namespace

void FleetSeat::apply(const Event& event) {
  if (!fleet::apply(state_, cluster_.view, event)) return;
  if (due_ == kNoTime) due_ = event.at + kGather;
  touch(std::string(fleet::kSubject));
}

void FleetSeat::touch_all() {
  due_ = kNoTime;
  if (!state_.nodes.empty() || !state_.told.empty()) touch(std::string(fleet::kSubject));
}

Seat::Turn FleetSeat::decide(const std::string&, TimePoint now) {
  Turn turn;
  if (due_ != kNoTime && now < due_) {
    turn.wake_at = due_;
    return turn;
  }
  due_ = kNoTime;
  fleet::Decision decision = fleet::decide(state_, policy_, now);
  turn.records = std::move(decision.records);
  turn.wake_at = decision.wake_at;
  return turn;
}

}  // namespace sickbay
