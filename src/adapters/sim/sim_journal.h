// SPDX-License-Identifier: Apache-2.0
// SimJournal: ports/journal.h in memory, with a disk that can be full.
//
// It outlives the controller that writes to it, as a file would, so that a test can kill the one and start
// another on the same events.
#pragma once
#include <vector>

#include "ports/journal.h"

namespace sickbay::sim {

class SimJournal final : public Journal {
 public:
  Status append(std::vector<Event>& events) override;
  Status read(std::int64_t after, const std::function<bool(const Event&)>& each) override;
  Status read_subject(const std::string& subject, std::int64_t after,
                      const std::function<bool(const Event&)>& each) override;
  std::int64_t last_seq() const override { return static_cast<std::int64_t>(events_.size()); }
  TimePoint last_stamp() const override { return events_.empty() ? kNoTime : events_.back().at; }
  std::int64_t size_bytes() const override { return bytes_; }

  /// append() answers storage_full until it is set back.
  void set_full(bool full) { full_ = full; }
  const std::vector<Event>& events() const { return events_; }

 private:
  std::vector<Event> events_;
  std::int64_t bytes_ = 0;
  bool full_ = false;
};

}  // namespace sickbay::sim
