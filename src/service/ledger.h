// SPDX-License-Identifier: Apache-2.0
// The ledger: which commands were started, and what came of each.  One for all engines.
//
// A key is intended once, ever.  An intent that is in the journal without a result has perhaps happened:
// after a restart it is reconciled (the effect looks first), never just repeated.  The ledger is state like
// an engine's: it changes by apply() only.
// It does not grow for ever.  Keys of a closed subject are forgotten, for no engine asks for anything there
// any more; so are keys that ended long ago, for every engine notes in its own state what it has asked for
// and does not come back to it weeks later.  Source: doc/design/decisions.md 15, 16.
#pragma once
#include <chrono>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/event.h"

namespace sickbay {

class Ledger {
 public:
  /// Takes in intent, done and failed; all other kinds are ignored.
  void apply(const Event& event);
  /// Drops the keys of a closed subject that have ended.
  void forget(const std::string& subject);
  /// True when `key` was intended, and it may still matter.
  bool knows(const std::string& key) const { return entries_.contains(key); }
  /// Intended, neither done nor failed, in the order of their intents.
  std::vector<Command> unfinished() const;
  std::size_t ever() const { return ever_; }  ///< commands ever intended
  std::size_t kept() const { return entries_.size(); }
  std::size_t open() const { return open_.size(); }

  /// How long an ended key of a subject that never closes (a node) is kept.
  static constexpr std::chrono::hours kKept{24 * 30};

  /// All of it, for base/state_archive.h.
  template <class A>
  void walk(A& archive) {
    archive(entries_, subjects_, ended_, open_, ever_);
  }

  static Event intent(const Command& command);
  static Event done(const Command& command, Json result);
  static Event failed(const Command& command, const Error& error);

 private:
  void end(const std::string& key, TimePoint at);

  struct Entry {
    static constexpr int kFields = 2;  ///< base/state_archive.h
    std::string subject;
    bool ended = false;
  };
  std::unordered_map<std::string, Entry> entries_;  ///< by key
  struct Subject {
    static constexpr int kFields = 2;  ///< base/state_archive.h
    std::vector<std::string> keys;
    bool closed = false;
  };
  std::unordered_map<std::string, Subject> subjects_;
  std::deque<std::pair<TimePoint, std::string>> ended_;  ///< keys by the time of their end
  std::vector<Command> open_;
  std::size_t ever_ = 0;
};

}  // namespace sickbay
