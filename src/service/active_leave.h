// SPDX-License-Identifier: Apache-2.0
// ActiveLeave: tells agents with their polls whether their nodes may run active checks.
//
// Whose turn it is: active_turns.h.  An agent that has no leave waits with its long poll, and is answered as
// soon as it has.  An agent that does not ask (an older one) is told nothing, and not counted; with a bound
// of 0 agents are told that there is none.  All on the loop's thread. Source: doc/design/diagnose.md, "Active
// checks".
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/json.h"
#include "model/active_word.h"
#include "ports/loop.h"
#include "service/active_turns.h"

namespace sickbay {

class JsonText;

class ActiveLeave {
 public:
  /// `at_once`: nodes that may have leave at once; 0: there is no bound.  `wake` is told of nodes that have
  /// it now, `changed` that what people are shown of some node is another thing.
  ActiveLeave(Loop& loop, int at_once, std::function<void(const std::string& node)> wake,
              std::function<void()> changed);
  ~ActiveLeave();

  /// Those that may have leave of the sickbayd before this one: until they have been heard, or a lease is
  /// over, nobody else gets any.
  void await(std::set<std::string> nodes);
  /// The agent of `node` begins a poll, with this word; nothing: an older one, which has none.
  void hear(const std::string& node, std::optional<ActiveWord> word);
  /// Leave out of turn, for a run whose asker waits for it.
  void lend(const std::string& node);
  /// Whether it has leave now.
  bool holds(const std::string& node) const { return is_bounded() && turns_.view(node).state == "holds"; }
  /// Whether its agent is to be told at once: it has leave, and does not use it yet.
  bool is_news(const std::string& node) const;
  /// The member `active` of the answer to its poll.
  Json answer(const std::string& node);

  /// What becomes of `node`: {state, since, at_once, holding, waiting}; null where it wants nothing.
  void write_view(JsonText& text, const std::string& node) const;
  /// Of all nodes: {at_once, holding, waiting}.
  Json counts() const;

 private:
  bool is_bounded() const { return turns_.most() > 0; }
  void give();
  void settle();

  Loop& loop_;
  ActiveTurns turns_;
  const std::function<void(const std::string&)> wake_;
  const std::function<void()> changed_;
  std::set<std::string> awaited_;
  Loop::TimerId timer_ = 0;
};

}  // namespace sickbay
