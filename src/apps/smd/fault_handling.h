// SPDX-License-Identifier: Apache-2.0
// The automatic mode as a pure state machine: given the answers and a clock, what to do next and what to say.
//
// It asks which nodes are faulty and works the policy from left to right: try to replace, at once and then
// every 20 seconds until the delay ends (with the job's time limit extended by the delay as soon as the
// service grants it); drop; give up.  What was replaced or dropped becomes the nodes file, and then the time
// limit grows by what the policy gives for each node.  The lines it says are those of the paper's three
// examples, to the letter, for scripts match them.  A replacement that comes later is no error, as it was in
// the original, and DROP works without TIME_LIMIT_DROP.
//
// Use: act on start(), then next(answer) of each act, until the act is `finish`.
#pragma once
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "apps/smd/answers.h"
#include "apps/smd/policy.h"
#include "base/time.h"

namespace sickbay::smd {

inline constexpr std::chrono::seconds kTryEvery{20};

/// What is to be done next.
struct Act {
  enum class Kind : std::uint8_t {
    query,       ///< which nodes of `fault` are there: an answer in Reply::faulty
    replace,     ///< `node`: Reply::replaced
    extend,      ///< the time limit by `minutes`: Reply::trouble or nothing
    drop,        ///< `node`: Reply::set
    wait,        ///< until `until`: an empty reply
    write_file,  ///< of `set`: Reply::trouble or nothing
    finish,      ///< with `exit_code`; there is no reply
  };
  explicit Act(Kind k) : kind(k) {}
  Kind kind;
  std::string node;
  std::uint32_t minutes = 0;
  TimePoint until = kNoTime;
  NodeSet set;
  int exit_code = 0;  ///< 0: the job may go on; 1: it may not
};

/// What came of an act.  Of its fields only the one that the act names counts, or `trouble`.
struct Reply {
  bool good = true;
  Trouble trouble;  ///< where not good
  std::vector<FaultyNode> faulty;
  Replaced replaced;
  NodeSet set;
};

/// What became of a faulty node.
struct NodeOutcome {
  enum class Kind : std::uint8_t { left, replaced, dropped };
  FaultyNode node;
  Kind kind = Kind::left;
  std::string by;  ///< where replaced
};

/// "_try_replace: job 17 node n3 will be replaced later, expected at TIME", a line; `when`: Unix seconds, 0:
/// not known.
std::string replaced_later_line(std::uint32_t job, const std::string& node, std::int64_t when);

class FaultHandling {
 public:
  /// Faults of one kind in one job.  `file` is the path of the nodes file, for what is said.  An empty policy
  /// only looks, and is enough where nothing is faulty.
  FaultHandling(std::uint32_t job, Fault fault, Policy policy, std::string file);

  /// What to do next, given what came of the last act at `now` (of a clock that never goes back).
  Act start();
  Act next(const Reply& reply, TimePoint now);

  /// What is to be printed since the last call: whole lines.
  std::string take_said();

  Fault fault() const { return fault_; }
  // What has been done so far, for --json.
  const std::vector<NodeOutcome>& outcomes() const { return nodes_; }
  const NodeSet& set() const { return set_; }
  bool file_written() const { return file_written_; }
  std::uint32_t extended() const { return extended_; }  ///< minutes
  /// The trouble that ended it early: of the query, or one without hope.
  const Trouble* stopped_by() const { return stopped_ ? &stopping_ : nullptr; }

 private:
  enum class State : std::uint8_t {
    query,
    replacing,
    delay_extending,
    waiting,
    dropping,
    writing,
    extending
  };

  // One line.
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    said_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  Act found(const Reply& reply);
  Act next_step();
  Act begin_tries(TimePoint now);
  Act try_next(TimePoint now);
  Act tried(const Reply& reply, TimePoint now);
  Act after_round(TimePoint now);
  Act extend_for_delay();
  Act wait_for_more(TimePoint now);
  Act end_replacing();
  Act drop_next();
  Act dropped(const Reply& reply);
  Act write_up();
  Act written(const Reply& reply);
  Act extend_next();
  bool extended_by(const Reply& reply, std::uint32_t minutes, bool say_trouble);
  Act finish();
  Act stop(const Trouble& trouble);
  std::size_t left() const;
  const PolicyStep& step() const { return policy_.steps[at_]; }

  const std::uint32_t job_;
  const Fault fault_;
  const Policy policy_;
  const std::string file_;
  std::string said_;

  State state_ = State::query;
  std::size_t at_ = 0;    // of policy_.steps
  std::size_t node_ = 0;  // of nodes_: the one that is asked for
  std::vector<NodeOutcome> nodes_;
  std::vector<bool> hopeless_;  // of nodes_: no use to ask again for a replacement
  NodeSet set_;
  bool changed_ = false;  // set_ has something new
  bool file_written_ = false, file_failed_ = false;

  std::size_t announced_ = 0;  // nodes in the last "trying to replace"
  bool announced_in_wait_ = false, last_round_ = false;
  bool delay_told_ = false, delay_granted_ = false;
  TimePoint tries_since_ = kNoTime, grid_ = kNoTime;
  int waits_ = 0;

  std::vector<std::uint32_t> extensions_;  // minutes, still to be asked for
  std::uint32_t extended_ = 0;
  bool stopped_ = false;
  Trouble stopping_;
};

}  // namespace sickbay::smd
