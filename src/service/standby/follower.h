// SPDX-License-Identifier: Apache-2.0
// Follower: the standby keeps a copy of the active's journal.
//
// It asks for what comes after its last row, writes it down, and asks again, which acknowledges.  Where the
// active does not have that row the two have gone apart: the copy is begun anew, beside the one there is,
// and takes its place when it has all and both are known by the same mark.  The old one is kept aside then,
// for it has events that nobody else has.  A summary among new rows says that the active archived subjects of
// which we have a part: then, too, the copy is made anew.
//
// Source: doc/design/standby.md, "Following".
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "ports/http_client.h"
#include "ports/journal_rows.h"
#include "ports/lifetime.h"
#include "ports/loop.h"
#include "service/standby/case_follower.h"
#include "service/standby/rows_message.h"

namespace sickbay {

class Follower {
 public:
  static constexpr std::chrono::milliseconds kAgain{1000};  ///< after a failure
  static constexpr std::chrono::seconds kLimit{10};         ///< for one answer
  static constexpr std::chrono::seconds kAnewAgain{30};     ///< of a copy that did not become the same
  // What was submitted is compared: soon after a case was closed, and from time to time.
  static constexpr std::chrono::seconds kCompareSoon{10}, kCompare{300};

  struct Listener {
    std::function<void(std::int64_t term)> active;     ///< the other says that it is active in it
    std::function<void(std::int64_t term)> has_term;   ///< its beginning is in the copy
    std::function<void(const std::string& line)> log;  ///< one key=value line
  };
  /// All must outlive it.  `cases`: what was submitted is followed, too; null: it is not.
  Follower(Loop& loop, HttpClient& active, JournalCopy& copy, Listener listener,
           CaseFollower* cases = nullptr);

  void start();
  /// Nothing is asked or written any more; an answer that still comes is dropped.
  void stop();

  /// How it stands, for people and tests.
  struct Standing {
    bool following = false;   ///< the last answer was one, and the copy is no new one that lacks events
    std::int64_t behind = 0;  ///< events of the active that the copy lacked then
    std::int64_t copies = 0;  ///< that were made anew
    std::string trouble;      ///< why the last question came to nothing
  };
  const Standing& standing() const { return standing_; }

 private:
  void ask();
  void take(Result<Json> json);
  void take(const RowsAnswer& answer);
  void bring(const RowsAnswer& answer);
  void store(const RowsAnswer& answer);
  void compare_cases(bool anew, std::function<void()> then);
  void begin_anew(bool keep_old, const std::string& why);
  void end_anew(const std::string& mark);
  void again(Micros in);
  void trouble(const Error& error, Micros again_in);
  void say(const std::string& line) const {
    if (listener_.log) listener_.log(line);
  }

  Loop& loop_;
  HttpClient& active_;
  JournalCopy& copy_;
  Listener listener_;
  CaseFollower* cases_;
  TimePoint compare_at_ = kNoTime;  ///< what was submitted; at the start first of all
  bool running_ = false, keep_old_ = false, is_at_end_ = false;
  std::int64_t new_term_ = 0;  ///< the highest in the copy that was begun anew
  std::uint64_t question_ = 0;
  Loop::TimerId timer_ = 0;
  Standing standing_;
  Lifetime lifetime_;
};

}  // namespace sickbay
