// SPDX-License-Identifier: Apache-2.0
// AgentTasks: what sickbayd wants the agents to do, and the long polls that carry it.
//
// A task is a diagnosis of one node, or an act on its components.  It waits here until its agent's long poll
// takes it (decisions.md 6), and ends with the agent's results or when its time has run out.  Tasks are
// events, so that they outlive sickbayd; their whole results are kept in memory only.  Who may ask is checked
// elsewhere (agents.h). Source: doc/design/diagnose.md, "Endpoints".
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "model/active_word.h"
#include "ports/http.h"
#include "ports/lifetime.h"
#include "service/controller.h"
#include "service/peer_tests.h"

namespace sickbay {

class ActiveLeave;

class AgentTasks {
 public:
  /// `heard` is told of a node whose agent asked something, `view` gives the agent of a node for people.
  /// `controller` must outlive it.
  AgentTasks(Loop& loop, Controller& controller, std::function<void(const std::string& node)> heard,
             std::function<Json(const std::string& node)> view);
  ~AgentTasks();

  /// Takes in one event of a node, at replay and after.
  void apply(const Event& event);
  /// What a replay brings back, and back again.
  void save(StateWriter& out) const;
  void restore(StateReader& in);

  // For agents.
  /// Answers `reply` with the tasks of `node` numbered over `after`, at once or when there are some, at the
  /// latest after kLongPoll.
  /// With them come its groups, the jobs whose ranks it looks at, and since when its node is leaving, where
  /// they are others than those of the versions that it `has`; where it has a word on active checks, whether
  /// it may run such ones; and where it has one on tests of two nodes, the helper that it is to run.
  struct Has {
    std::optional<std::int64_t> swim = {};     ///< which groups it has; nothing: it has no use for any
    std::optional<std::int64_t> ranks = {};    ///< whose ranks it looks at; nothing: it can look at none
    std::optional<std::int64_t> leaving = {};  ///< since when it shows its node to be leaving; 0: it is not
    std::optional<ActiveWord> active = {};     ///< its word on active checks
    std::optional<PeerWord> peer = {};         ///< its word on tests of two nodes
  };
  void give(const std::string& node, std::int64_t after, Has has, std::shared_ptr<HttpReply> reply);
  /// Who gives an agent its groups (SwimGroups::news), and says by wake() that they have changed.
  using News = std::function<Json(const std::string& node, std::int64_t version)>;
  void on_swim(News news) { swim_ = std::move(news); }
  /// The same for jobs whose ranks it looks at (RankWatches::news).
  void on_ranks(News news) { ranks_ = std::move(news); }
  /// The same for nodes that are leaving (LeavingNews::news).
  void on_leaving(News news) { leaving_ = std::move(news); }
  /// The same for helpers of other nodes' tests (PeerTests::news).
  void on_peer(std::function<Json(const std::string& node, PeerWord has)> news) { peers_ = std::move(news); }
  /// Has agents told whether their nodes may run active checks; `leave` must outlive this.
  void lend_by(ActiveLeave& leave) { active_ = &leave; }
  void wake(const std::string& node);
  /// The end of a task.  The answer comes when it is durable.
  void take_results(const std::string& node, const Json& body, Done<Json> done);

  // For people and engines.
  /// Sees the events of an order and its answer before they are kept; false: it was kept before.
  using Mark = std::function<bool(std::vector<Event>& events, const Json& answer)>;
  /// A diagnosis of `node` at once: {"task": 7}.  One with `attended` ends with whoever waits for it by
  /// show(): what nobody waits for any more must not run when he has done something else.  Errors: bad_input
  /// (no such mode), not_found (no such node).
  void order(const std::string& node, const Json& wish, const std::string& by, Mark mark, Done<Json> done);
  /// Answers `reply` with the task when it is over, at the latest after kLongPoll.
  void show(std::int64_t task, std::shared_ptr<HttpReply> reply);
  /// A diagnosis to its end, for the verb `diagnose`: {"passed", "whole", "faults", "unknown"}, and where
  /// rules would take the node out {"drains": how many, "sick": the first}.  Errors: timed_out, and those of
  /// order().
  void examine(const std::string& node, const std::string& mode, Done<Json> done);
  /// An act on components of `node` (service/agent/component_restarts.h), for the verbs restart_component and
  /// check_component, and what the agent answered.  One that was ordered under the same `key` before is
  /// waited for, or answered from what came of it: it is not ordered again.  Errors: timed_out (no agent took
  /// it, or none ended it), not_found (no such node), conflict (what the agent said).
  void act(const std::string& node, const std::string& key, const Json& order, Done<Json> done);

  static constexpr std::string_view kDiagnoseWanted = "diagnose_wanted";  ///< a task begins
  static constexpr std::string_view kActWanted = "act_wanted";            ///< likewise, of components
  static constexpr std::chrono::seconds kLongPoll{30};
  static constexpr std::chrono::minutes kLife{30};  ///< of a task that no agent takes
  /// An order whose asker waits for it (`attended`) ends when he has not been there for this long.
  static constexpr std::chrono::seconds kAskerAway{15};
  static constexpr std::chrono::hours kRun{4};  ///< of a task that was taken and has no end
  static constexpr std::chrono::minutes kActLife{
      2};  ///< of an act that no agent takes: somebody waits for it
  static constexpr std::chrono::minutes kActRun{30};  ///< of one that was taken

 private:
  struct Task;
  struct Poll {
    std::shared_ptr<HttpReply> reply;
    Loop::TimerId timer = 0;
    std::int64_t after = 0;
    Has has;
  };

  void begin_task(const Event& event);
  void end_task(const Event& event);
  void tell_watchers(const Task& task);
  void with_node(const std::string& node, std::function<void(Status)> then);
  bool left_alone(Task& task) const;
  bool has_tasks(const std::string& node, std::int64_t after) const;
  Json tasks_after(const std::string& node, const Poll& poll);
  void answer_poll(const std::string& node);
  Json news(const std::string& node, Has has) const;
  bool has_leave_to_tell(const std::string& node, const Poll& poll) const;
  void expire();
  void sweep_in(Micros time);
  void answer_task(const Poll& poll, const Task& task);

  Loop& loop_;
  Controller& controller_;
  const std::function<void(const std::string&)> heard_;
  const std::function<Json(const std::string&)> view_;
  News swim_, ranks_, leaving_;                              ///< may be empty
  std::function<Json(const std::string&, PeerWord)> peers_;  ///< likewise
  ActiveLeave* active_ = nullptr;                            ///< likewise
  std::map<std::int64_t, Task> tasks_;
  std::map<std::string, Poll> polls_;                 ///< by node: an agent has one
  std::multimap<std::int64_t, Done<Json>> watchers_;  ///< of tasks, from examine()
  std::int64_t last_ = 0;
  Loop::TimerId sweep_ = 0;
  TimePoint sweep_at_ = kNoTime;
  Lifetime lifetime_;
};

}  // namespace sickbay
