// SPDX-License-Identifier: Apache-2.0
// Agents: what sickbayd knows of the agents on the nodes, and what it wants of them.
//
// Agents ask, sickbayd answers: a task waits here until its agent's long poll takes it (decisions.md 6). What
// an agent finds becomes an event `finding`; repeats, told by (node, boot_id, n), are dropped, also after a
// restart, because the journal is where the numbers are kept.  Nobody is drained here: engine/drain reads the
// events.  All on the loop's thread.  Source: doc/design/diagnose.md, "Findings" and "Endpoints".
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ports/http.h"
#include "service/controller.h"

namespace sickbay {

class Agents {
 public:
  /// Gives the addresses of a host name (adapters/net's AddressBook).
  using LookUp = std::function<void(const std::string& name, Done<std::vector<std::string>> done)>;
  /// To be made before the controller's replay, which tells it what the journal has of agents.  `controller`
  /// must outlive it.
  Agents(Loop& loop, Controller& controller, LookUp look_up);
  ~Agents();

  /// Whether `caller` is the agent of `node`: uid 0, calling from the NodeAddr of that node.  Errors: denied,
  /// not_found (Slurm has no such node), slurm_away.
  void check(const Caller& caller, const std::string& node, std::function<void(Status)> then);

  // What agents say.  The answers come when what they tell is durable.
  void hello(const std::string& node, const Json& body, Done<Json> done);
  void take_findings(const std::string& node, const Json& body, Done<Json> done);
  void take_results(const std::string& node, const Json& body, Done<Json> done);
  /// Answers `reply` with the tasks of `node` numbered over `after`, at once or when there are some, at the
  /// latest after kLongPoll.
  void give_tasks(const std::string& node, std::int64_t after, std::shared_ptr<HttpReply> reply);

  // What people want.
  /// A diagnosis of `node` at once: {"task": 7}.  The same `key` again is the same task.  Errors: bad_input
  /// (no such mode), not_found (no such node).
  void order_diagnosis(const std::string& node, const Json& wish, const std::string& by,
                       const std::string& key, Done<Json> done);
  /// Answers `reply` with the task when it is over, at the latest after kLongPoll.
  void give_task(std::int64_t task, std::shared_ptr<HttpReply> reply);
  /// A diagnosis to its end, for the verb `diagnose`: {"passed", "faults", "unknown"}.  Errors: timed_out,
  /// and those of order_diagnosis.
  void examine(const std::string& node, const std::string& mode, Done<Json> done);

  /// The member "agent" of a node in GET /v1/nodes; null where none was ever seen.
  Json view(const std::string& node) const;
  /// Agents that asked something in the last two minutes.
  std::size_t present() const;

  static constexpr std::chrono::seconds kLongPoll{30};
  static constexpr std::chrono::minutes kLate{10};         ///< an older finding is history (decisions.md 14)
  static constexpr std::chrono::minutes kTaskLife{30};     ///< a task that no agent takes
  static constexpr std::chrono::hours kTaskRun{4};         ///< a task that was taken and has no end
  static constexpr std::size_t kMostFindings = 500;        ///< of one request
  static constexpr std::size_t kMostFindingBytes = 65536;  ///< of one finding

 private:
  struct Agent;
  struct Task;
  struct Poll {
    std::shared_ptr<HttpReply> reply;
    Loop::TimerId timer = 0;
    std::int64_t after = 0;
  };

  void apply(const Event& event);
  void compare(const std::string& address, const std::string& node, Done<bool> done);
  void touch(const std::string& node);
  void keep(std::vector<Event> events, Json answer, Done<Json> done);
  Json tasks_after(const std::string& node, std::int64_t after);
  void answer_poll(const std::string& node);
  void expire_tasks();
  void answer_task(const Poll& poll, const Task& task);
  static Json task_json(const Task& task);

  Loop& loop_;
  Controller& controller_;
  const LookUp look_up_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::map<std::string, Agent> agents_;
  std::map<std::int64_t, Task> tasks_;
  std::multimap<std::int64_t, Done<Json>> watchers_;  ///< of tasks, from examine()
  std::map<std::string, std::int64_t> tasks_by_key_;
  std::int64_t last_task_ = 0, last_finding_ = 0;
  std::map<std::string, std::pair<TimePoint, std::vector<std::string>>> addresses_;
  Loop::TimerId sweep_ = 0;
};

}  // namespace sickbay
