// SPDX-License-Identifier: Apache-2.0
#include "service/seats/seats.h"

#include "service/config.h"

namespace sickbay {

Seats::Seats(const Config& config) {
  // One line for each engine.  They are asked in this order, which nothing may depend on.
  cases_ = seat<IdentifySeat>(config.identify);
  drains_ = seat<DrainSeat>(config.drain);
  nonstop_ = seat<NonstopSeat>(config.nonstop);
  detects_ = seat<DetectSeat>(config.detect, config.drain.breaker);
  fleet_ = seat<FleetSeat>(config.fleet);
  blackholes_ = seat<BlackholeSeat>(config.identify);
  patrols_ = seat<PatrolSeat>(config.patrol);
  recoveries_ = seat<RecoverSeat>(config.recover);
  histories_ = seat<HistorySeat>();
}
Seats::~Seats() = default;

void Seats::apply(const Event& event) {
  cluster::apply(cluster_, event);
  for (const auto& seat : all_) seat->apply(event);
}

void Seats::replay(Event event) {
  for (const auto& seat : all_) seat->raise(event);
  apply(event);
}

std::string Seats::canonical_text() const {
  std::string text = cluster::canonical_text(cluster_);
  for (const auto& seat : all_) text += seat->canonical_text();
  return text;
}

}  // namespace sickbay
