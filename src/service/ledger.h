// SPDX-License-Identifier: Apache-2.0
// The ledger: which commands were started, and what came of each.  One for all engines.
//
// A key is intended once, ever.  An intent that is in the journal without a result has perhaps happened:
// after a restart it is reconciled (the effect looks first), never just repeated.  The ledger is state like
// an engine's: it changes by apply() only.  Source: doc/design/decisions.md 15, 16.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "model/event.h"

namespace sickbay {

class Ledger {
 public:
  /// Takes in intent, done and failed; all other kinds are ignored.
  void apply(const Event& event);
  /// True when `key` was ever intended.
  bool knows(const std::string& key) const { return entries_.contains(key); }
  /// Intended, neither done nor failed, in the order of their intents.
  std::vector<Command> unfinished() const;
  std::size_t size() const { return entries_.size(); }
  std::size_t open() const { return open_.size(); }

  static Event intent(const Command& command);
  static Event done(const Command& command, Json result);
  static Event failed(const Command& command, const Error& error);

 private:
  enum class Standing : std::uint8_t { intended, done, failed };
  std::unordered_map<std::string, Standing> entries_;
  std::vector<Command> open_;
};

}  // namespace sickbay
