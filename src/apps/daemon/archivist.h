// SPDX-License-Identifier: Apache-2.0
// Archivist: moves the events of long closed cases, and what jobs came to long ago, to the archives, once a
// day (doc/formats/journal.md).
//
// The loop waits while it works, so it works in portions: it looks at a bounded number of cases, moves no
// more events than the last portions let it expect to move in kLongest, and rests then for twenty times what
// that took.  A case is forgotten only when its events have been moved: of one that was spoken of lately the
// journal still has them, and the next replay would know it.
//
// The subject of what jobs came to never closes.  So the state that it led to is written into the journal
// every 30 days (`jobs_kept`), and what lies before that can go: the journal holds 60 days of it at most.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/result.h"
#include "ports/loop.h"

namespace sickbay {

class Controller;
class SqliteJournal;

class Archivist {
 public:
  /// How old what is moved is at least, and how long until it is looked for again.
  struct Times {
    std::chrono::seconds keep{std::chrono::hours(30 * 24)}, every{std::chrono::hours(24)};
  };
  /// All three must outlive it.
  Archivist(Loop& loop, SqliteJournal& journal, Controller& controller)
      : Archivist(loop, journal, controller, Times()) {}
  /// With other times: those of a soak, which has no month.
  Archivist(Loop& loop, SqliteJournal& journal, Controller& controller, Times times)
      : loop_(loop), journal_(journal), controller_(controller), times_(times) {}
  /// Moves some now, and goes on by itself: with the rest a moment later, with new ones a day later.
  void work();
  /// Calls `then` each time that nothing more is left to be moved for now.
  void on_done(std::function<void()> then) { done_ = std::move(then); }

  static constexpr std::chrono::milliseconds kLongest{10};  ///< that a portion is to take

 private:
  /// How many events are moved at once.
  class Portion {
   public:
    std::int64_t events() const { return events_; }
    void note(Micros took);

   private:
    std::int64_t events_ = 8;
  };
  /// True where there is more to be moved, or to be looked at.
  Result<bool> archive_cases();
  Result<bool> archive_jobs();
  void give_up(const Error& error);
  void again(Micros in);
  Loop& loop_;
  SqliteJournal& journal_;
  Controller& controller_;
  const Times times_;
  Portion of_cases_, of_jobs_;
  std::function<void()> done_;  ///< may be empty
  std::int64_t looked_at_ = 0;  ///< number of the last case that was looked at today; 0: none
};

}  // namespace sickbay
