// SPDX-License-Identifier: Apache-2.0
#include "service/seats/recover_seat.h"

#include <algorithm>

namespace sickbay {
namespace {

// While there is something to recover: is the node still there, has it booted, may another one leave?
constexpr std::chrono::seconds kLookForBoots{10};
// While a restart waits for a boot alone, the looks are part of the time to recovery: with 10 s between them
// a node that boots in 7 s took 18.
constexpr std::chrono::seconds kLookForABoot{2};

}  // namespace

void RecoverSeat::apply(const Event& event) {
  for (std::string& subject : recover::apply(state_, cluster_.view, event)) touch(std::move(subject));
}

void RecoverSeat::touch_all() {
  for (const std::int64_t no : state_.open) touch(recovery_name(no));
  if (!state_.wanted.empty() || !state_.wanted_jobs.empty() || !state_.asked.empty() ||
      state_.dependent != policy_.dependent)
    touch(std::string(recover::kRecoveries));
}

Seat::Turn RecoverSeat::decide(const std::string& subject, TimePoint now) {
  // A number was given to somebody whose event is not here yet: when it comes this subject is asked about
  // again, and the next number is known.
  if (subject == recover::kRecoveries && last_given_ > state_.last) return {};
  recover::Decision decision = recover::decide(cluster_, state_, policy_, subject, now);
  return {std::move(decision.claims), std::move(decision.records), std::move(decision.commands),
          decision.wake_at};
}

Wish RecoverSeat::wish() const {
  Wish wish;
  if (!state_.open.empty())
    wish.nodes_every = recover::waits_for_boot(state_, cluster_.view) ? kLookForABoot : kLookForBoots;
  wish.jobs = !recover::watched(state_).empty();
  return wish;
}

std::vector<WatchedJob> RecoverSeat::watched_jobs() const {
  std::vector<WatchedJob> jobs;
  for (recover::Watched& w : recover::watched(state_))
    jobs.push_back({w.job_id, w.uid, "", std::move(w.subject), std::move(w.run)});
  return jobs;
}

LookedAtClosely RecoverSeat::closely() const { return recover::looked_at(state_); }

void RecoverSeat::forget(const std::string& subject) {
  recover::apply(state_, cluster_.view, new_event(subject, kArchived, Json::object()));
}

std::int64_t RecoverSeat::new_number() {
  last_given_ = std::max(last_given_, state_.last) + 1;
  return last_given_;
}

}  // namespace sickbay
