// SPDX-License-Identifier: Apache-2.0
#include "service/seats/identify_seat.h"

#include <algorithm>

namespace sickbay {

void IdentifySeat::apply(const Event& event) {
  identify::apply(state_, cluster_.view, event);
  if (const auto no = parse_case_name(event.subject); no && state_.open.contains(*no)) touch(event.subject);
  // What happens to nodes may matter to every open case, and so may a claim that another engine gives back.
  if (event.kind == kNodesSeen || event.kind == kControllerSeen || event.kind == kClaimReleased) touch_all();
}

void IdentifySeat::touch_all() {
  for (const std::int64_t no : state_.open) touch(case_name(no));
}

Seat::Turn IdentifySeat::decide(const std::string& subject, TimePoint now) {
  const auto no = parse_case_name(subject);
  const auto it = no ? state_.cases.find(*no) : state_.cases.end();
  if (it == state_.cases.end()) return {};
  identify::Decision decision = identify::decide(cluster_, state_, policy_, it->second, now);
  return {std::move(decision.claims), std::move(decision.records), std::move(decision.commands),
          decision.wake_at};
}

// Nodes come with each look at jobs, so no pace is wished for them.
Wish IdentifySeat::wish() const {
  Wish wish;
  for (identify::Watched& w : identify::watched(state_))
    wish.jobs.push_back({w.job_id, w.uid, std::move(w.key), case_name(w.case_no), w.run.text()});
  return wish;
}

// A replay would find this one event in the place of the case.
void IdentifySeat::forget(const std::string& subject) {
  Event event;
  event.subject = subject;
  event.kind = kArchived;
  identify::apply(state_, cluster_.view, event);
}

std::int64_t IdentifySeat::new_case_number() {
  last_given_ = std::max(last_given_, state_.last_case) + 1;
  return last_given_;
}

}  // namespace sickbay
