// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/sim_journal.h"

namespace sickbay::sim {

Status SimJournal::append(std::vector<Event>& events) {
  if (full_) return fail(ErrorCode::storage_full, "cannot append to the journal: No space left on device");
  for (Event& event : events) {
    SB_CHECK(event.at >= last_stamp(), "stamps never run backwards");
    // As the real one, which would not take it.
    SB_CHECK(event.v <= newest_version(event.kind), "a version is written down in model/event_kinds.h");
    event.seq = last_seq() + 1;
    bytes_ += static_cast<std::int64_t>(event.text().size());
    events_.push_back(event);
  }
  return {};
}

Status SimJournal::read(std::int64_t after, const std::function<bool(const Event&)>& each) {
  for (auto seq = static_cast<std::size_t>(after); seq < events_.size(); ++seq)
    if (!each(events_[seq])) break;
  return {};
}

Status SimJournal::read_subject(const std::string& subject, std::int64_t after,
                                const std::function<bool(const Event&)>& each) {
  return read(after, [&](const Event& event) { return event.subject != subject || each(event); });
}

}  // namespace sickbay::sim
