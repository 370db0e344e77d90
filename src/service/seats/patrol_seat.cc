// SPDX-License-Identifier: Apache-2.0
#include "service/seats/patrol_seat.h"

namespace sickbay {
namespace {

// While a round is open: who is idle, and whether jobs of users wait.
constexpr std::chrono::seconds kLook{10};
// Each job that starts on a node under suspicion meanwhile is lost.
constexpr std::chrono::seconds kLookForSuspects{2};
// The subject under which the engine is asked whether a round is to be opened.
constexpr std::string_view kOpening = "patrol";

}  // namespace

void PatrolSeat::apply(const Event& event) {
  last_ = event.at;
  if (patrol::apply(state_, cluster_.view, event)) touch_all();
}

void PatrolSeat::touch_all() {
  if (const patrol::Round* round = state_.open())
    touch(round->name());
  else if (!state_.suspects.empty())
    touch(std::string(kOpening));
}

Seat::Turn PatrolSeat::decide(const std::string& subject, TimePoint now) {
  if (subject == kOpening) {
    // (The number that a person's round was given is taken, though nobody has heard of it yet.)
    if (last_given_ > state_.last) return {};
    patrol::Decision opening = patrol::decide_opening(cluster_, state_, policy_, now);
    return {{}, std::move(opening.records), {}, opening.wake_at};
  }
  const auto no = parse_patrol_name(subject);
  const auto round = no ? state_.rounds.find(*no) : state_.rounds.end();
  if (round == state_.rounds.end()) return {};
  patrol::Decision decision = patrol::decide(cluster_, state_, policy_, round->second, now);
  return {std::move(decision.claims), std::move(decision.records), std::move(decision.commands),
          decision.wake_at};
}

Wish PatrolSeat::wish() const {
  Wish wish;
  const patrol::Round* round = state_.open();
  if (round == nullptr) return wish;
  wish.nodes_every = round->for_suspects ? kLookForSuspects : kLook;
  wish.queue = true;
  wish.queue_untold = !round->queue_known;
  wish.jobs = !patrol::watched(state_).empty();
  return wish;
}

std::vector<WatchedJob> PatrolSeat::watched_jobs() const {
  std::vector<WatchedJob> jobs;
  if (state_.open() == nullptr) return jobs;
  for (patrol::Watched& w : patrol::watched(state_))
    jobs.push_back({w.job_id, w.uid, std::move(w.key), std::move(w.subject), std::move(w.run)});
  return jobs;
}

LookedAtClosely PatrolSeat::closely() const {
  return state_.open() == nullptr ? LookedAtClosely{} : patrol::looked_at(cluster_, state_, policy_, last_);
}

void PatrolSeat::forget(const std::string& subject) {
  patrol::apply(state_, cluster_.view, new_event(subject, kArchived, Json::object()));
}

std::int64_t PatrolSeat::new_round() {
  if (state_.open() != nullptr || last_given_ > state_.last) return 0;
  last_given_ = state_.last + 1;
  return last_given_;
}

}  // namespace sickbay
