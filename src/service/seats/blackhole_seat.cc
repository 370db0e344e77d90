// SPDX-License-Identifier: Apache-2.0
#include "service/seats/blackhole_seat.h"

#include "model/ids.h"

namespace sickbay {
namespace {

// A black hole eats up to three jobs in a second: the look must not be what ten jobs are lost to.  (Where a
// look takes long the watch makes longer pauses.)
constexpr std::chrono::seconds kLookAtAllJobs{2}, kLookWhileItEats{1};

}  // namespace

void BlackholeSeat::apply(const Event& event) {
  last_ = event.at;
  for (const std::string& node : blackhole::apply(state_, cluster_.view, event)) touch(node_subject(node));
}

void BlackholeSeat::touch_all() {
  for (const auto& [name, node] : state_.nodes)
    if (node.black || node.series.open()) touch(node_subject(name));
}

Seat::Turn BlackholeSeat::decide(const std::string& subject, TimePoint /*now*/) {
  Turn turn;
  turn.records = blackhole::decide(state_, std::string(node_of_subject(subject))).records;
  return turn;
}

Wish BlackholeSeat::wish() const {
  Wish wish;
  if (!policy_.all_jobs) return wish;
  wish.lives = blackhole::wants_lives(state_, last_);
  // (Asked for after every commit: where no node may be one, none eats.)
  const bool eats = wish.lives && blackhole::is_eating(state_, last_);
  wish.all_jobs = eats ? kLookWhileItEats : kLookAtAllJobs;
  wish.despite_floor = eats;
  return wish;
}

// When a black hole has booted it is one no longer.
LookedAtClosely BlackholeSeat::closely() const {
  LookedAtClosely black;
  if (!policy_.all_jobs) return black;
  for (const auto& [name, node] : state_.nodes)
    if (node.black) black.emplace(name, -1);
  return black;
}

}  // namespace sickbay
