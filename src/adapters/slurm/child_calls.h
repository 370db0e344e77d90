// SPDX-License-Identifier: Apache-2.0
// Calls to sickbay-slurm: one at a time, each with a limit, across deaths and restarts of the child.
//
// The child starts with the first call.  When it dies during a call, a look failed and an effect is unknown
// (`timed_out`: find() before anything else).  When it dies before it ever answered, the cause is lasting (a
// bad slurm.conf), so all that waits is answered and the next start is put off, for longer each time.
// Source: doc/design/decisions.md 2.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/slurm/child_process.h"
#include "ports/resource_manager.h"

namespace sickbay::slurm {

/// Counts of calls by name, for /metrics.
class CallCounts {
 public:
  void add(const std::string& call, bool ok, double seconds);
  std::vector<CallCount> list() const;

 private:
  std::map<std::string, CallCount> by_name_;
};

class ChildCalls {
 public:
  struct Setup {
    std::string path;
    std::vector<std::string> environment;
    std::chrono::milliseconds call_limit;
    std::function<void(std::string_view)> log;
  };
  ChildCalls(Loop& loop, Setup setup, CallCounts& counts);
  ~ChildCalls();
  ChildCalls(const ChildCalls&) = delete;
  ChildCalls& operator=(const ChildCalls&) = delete;

  using Answer = std::function<void(Result<Json>)>;
  /// Makes one call; the caller (a CallLane of width 1) sees to it that no other is under way.  `answer` may
  /// come from inside.  Errors: those of the child, timed_out, slurm_away.
  void call(std::string name, Json args, bool effect, Answer answer);

 private:
  struct UnderWay {
    std::int64_t id;
    std::string name;
    bool effect;
    Answer answer;
    TimePoint since;
    Loop::TimerId limit;
  };
  Status start_child();
  void on_frame(const Json& json);
  void on_gone(const std::string& why);
  void give_up_child();
  void finish(Result<Json> outcome, double seconds);
  double elapsed() const;

  Loop& loop_;
  Setup setup_;
  CallCounts& counts_;
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<UnderWay> under_way_;
  std::int64_t last_id_ = 0;
  bool ready_ = false;     ///< this child has read its slurm.conf and may have sent something to slurmctld
  bool answered_ = false;  ///< this child has answered a call
  TimePoint started_ = kNoTime;
  int failed_starts_ = 0;
  TimePoint not_before_ = kNoTime;
  std::string last_failure_;
};

}  // namespace sickbay::slurm
