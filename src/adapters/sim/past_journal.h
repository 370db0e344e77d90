// SPDX-License-Identifier: Apache-2.0
// PastJournal: a journal as it was after one of its events, for a replay up to there.
#pragma once
#include "ports/journal.h"

namespace sickbay::sim {

class PastJournal final : public Journal {
 public:
  /// `whole` must outlive it.
  PastJournal(Journal& whole, std::int64_t last) : whole_(whole), last_(last) {}
  Status append(std::vector<Event>&) override { return fail(ErrorCode::conflict, "it is the past"); }
  Status read(std::int64_t after, const std::function<bool(const Event&)>& each) override {
    return whole_.read(after, [&](const Event& event) { return event.seq <= last_ && each(event); });
  }
  Status read_subject(const std::string& subject, std::int64_t after,
                      const std::function<bool(const Event&)>& each) override {
    return whole_.read_subject(subject, after,
                               [&](const Event& event) { return event.seq <= last_ && each(event); });
  }
  std::int64_t last_seq() const override { return last_; }
  TimePoint last_stamp() const override { return whole_.last_stamp(); }
  std::int64_t size_bytes() const override { return 0; }

 private:
  Journal& whole_;
  const std::int64_t last_;
};

}  // namespace sickbay::sim
