// SPDX-License-Identifier: Apache-2.0
// LeavingNews: which nodes are leaving, as their agents are to tell programs there.
//
// A node is leaving while Slurm shows it as drained or failing, whoever has done that: its jobs go on, and it
// is often about to fail or to be booted.  Its agent is told since when, in the answer to its long poll, and
// says with the next poll what it has; so that moment is the version, too.  It is the one at which sickbayd
// saw it, and stays as long as the node is leaving, whatever reasons it is given.  Nothing of this is kept
// here longer than sickbayd lives: of a node that was leaving when it started the agent knows since when, and
// else it begins anew.  All on the loop's thread.  Source: doc/design/checkpoint.md, "Before a drain".
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "ports/lifetime.h"
#include "service/controller.h"

namespace sickbay {

class LeavingNews {
 public:
  /// `wake` is told of nodes of which that has changed.  `controller` must outlive it.
  LeavingNews(Loop& loop, Controller& controller, std::function<void(const std::string& node)> wake);

  /// What the agent of `node` is to be told: {since: microseconds or null}; null where `since` (0: it is not)
  /// is what it has, or where nobody knows.
  Json news(const std::string& node, std::int64_t since);

 private:
  struct Node {
    std::int64_t since = 0;  ///< microseconds; 0: it is not leaving
    bool at_start = false;   ///< it was leaving when it was seen first: its agent may know since when
  };
  void refresh();
  /// Takes the last look at one node in; has something changed?
  bool see(const NodeInfo& info);

  Loop& loop_;
  Controller& controller_;
  const std::function<void(const std::string&)> wake_;
  std::map<std::string, Node> nodes_;
  bool refreshing_ = false;
  Lifetime lifetime_;
};

}  // namespace sickbay
