// SPDX-License-Identifier: Apache-2.0
// Feed: the active hands the rows of its journal to the standby.
//
// A question waits until there is a row, at most for kHold, so that a new event is on its way at once and
// silence is heard soon.  That the standby asks for what comes after a row says that it has that one, and all
// before it, on its disk; whether it is ours its sum tells.  One standby: of two questions the later one is
// answered.  Source: doc/design/standby.md, "Following".
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "ports/lifetime.h"
#include "ports/loop.h"
#include "service/standby/rows_message.h"

namespace sickbay {

class StandbyFeed {
 public:
  static constexpr std::chrono::milliseconds kHold{2000};
  static constexpr std::size_t kPageBytes = std::size_t{1} << 20;

  struct Standing {
    std::string name;
    std::int64_t term = 0;  ///< 0: not the active
  };
  /// `standing`: asked for each answer.  `has`: the standby has all up to this event.  All must outlive this.
  StandbyFeed(Loop& loop, JournalRows& rows, std::function<Standing()> standing,
              std::function<void(std::int64_t seq)> has);

  /// Errors: bad_input, too_new, busy (this is not the active), storage_broken.
  void ask(const Json& body, Done<Json> done);
  /// There are new rows, or this is not the active any more: who waits is answered.
  void woken();

 private:
  struct Waiting {
    RowsAsk ask;
    Done<Json> done;
    Loop::TimerId timer = 0;
  };
  void answer(const RowsAsk& ask, const Done<Json>& done, bool may_wait);

  Loop& loop_;
  JournalRows& rows_;
  std::function<Standing()> standing_;
  std::function<void(std::int64_t)> has_;
  std::optional<Waiting> waiting_;
  Lifetime lifetime_;
};

}  // namespace sickbay
