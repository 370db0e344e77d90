// SPDX-License-Identifier: Apache-2.0
// ComponentRestarts: what sickbayd orders of this node's components: restart them, look at them.
//
// One order at a time, in the order of their coming.  A restart is noted in the agent's store before it
// begins, and one that is noted is not begun again: an agent that ended in its midst says so, and sickbayd
// looks what came of it (doc/design/decisions.md 16).  After the restarts the component that matters is
// looked at each second until it is well or its time is over.  No restart without the site's permission
// (repair.allowed). Source: doc/design/recover.md.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ports/agent_store.h"
#include "ports/lifetime.h"
#include "ports/loop.h"
#include "ports/process_runner.h"
#include "service/agent/components.h"

namespace sickbay::agent {

class ComponentRestarts {
 public:
  /// `permitted`: the site allows repairs on this node.  All must outlive it.
  ComponentRestarts(Loop& loop, ProcessRunner& processes, AgentStore& store,
                    std::vector<ComponentSpec> components, bool permitted,
                    std::function<void(const std::string& line)> log);
  ~ComponentRestarts();

  const std::vector<ComponentSpec>& components() const { return components_; }

  /// Does one order of sickbayd's and answers with what came of it, once; `task` is its number.
  /// "restart": {components: restarted in this order, check: looked at afterwards} -> {restarted, cured,
  /// took_us, said}.  "check": {components; none: all} -> {well, said}.  `said`: for people.
  /// Errors: bad_input (no such act), not_found (no such component), denied (not permitted), conflict (it was
  /// begun before, and nobody knows what came of it), storage_*.
  void take(std::int64_t task, const Json& order, Done<Json> done);

  static constexpr std::chrono::seconds kLookEvery{1};
  static constexpr std::size_t kNoted = 64;  ///< orders that are remembered

 private:
  struct Order;
  void next();
  void over(Result<Json> answer);
  void restart_next();
  void look();
  void check_next();
  void run(const std::vector<std::string>& argv, std::chrono::seconds limit,
           std::function<void(bool well, const std::string& said)> done);
  Status note(std::int64_t task);
  const ComponentSpec* find(const std::string& name) const;

  Loop& loop_;
  ProcessRunner& processes_;
  AgentStore& store_;
  const std::vector<ComponentSpec> components_;
  const bool permitted_;
  const std::function<void(const std::string&)> log_;
  std::deque<std::unique_ptr<Order>> orders_;  ///< the first one is under way
  Loop::TimerId timer_ = 0;
  Lifetime lifetime_;
};

}  // namespace sickbay::agent
