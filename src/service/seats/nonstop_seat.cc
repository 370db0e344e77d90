// SPDX-License-Identifier: Apache-2.0
#include "service/seats/nonstop_seat.h"

#include <algorithm>

#include "model/ids.h"

namespace sickbay {

void NonstopSeat::apply(const Event& event) {
  for (const std::string& subject : nonstop::apply(state_, cluster_.view, event)) touch(subject);
}

void NonstopSeat::touch_all() {
  for (std::string& subject : nonstop::restless(state_, policy_)) touch(std::move(subject));
}

Seat::Turn NonstopSeat::decide(const std::string& subject, TimePoint now) {
  nonstop::Decision decision = nonstop::decide(cluster_, state_, policy_, subject, now);
  return {std::move(decision.claims), std::move(decision.records), std::move(decision.commands),
          decision.wake_at};
}

Wish NonstopSeat::wish() const {
  Wish wish;
  wish.jobs = !nonstop::watched(state_).empty();
  if (!policy_.on) return wish;
  wish.nonstop_jobs = state_.jobs.empty() ? policy_.idle_every : policy_.jobs_every;
  // A node that is lost is known by its state, before the list of jobs says so.
  if (!state_.jobs.empty()) {
    wish.nodes_every = policy_.nodes_every;
    wish.despite_floor = true;
  }
  if (!wish.nodes_every && !nonstop::looked_at(cluster_, state_, policy_).empty())
    wish.nodes_every = policy_.idle_every;
  return wish;
}

std::vector<WatchedJob> NonstopSeat::watched_jobs() const {
  std::vector<WatchedJob> jobs;
  for (nonstop::WatchedDonor& donor : nonstop::watched(state_))
    jobs.push_back(
        {donor.job_id, donor.uid, std::move(donor.key), std::move(donor.subject), std::move(donor.run)});
  return jobs;
}

LookedAtClosely NonstopSeat::closely() const {
  return policy_.on ? nonstop::looked_at(cluster_, state_, policy_) : LookedAtClosely{};
}

}  // namespace sickbay
