// SPDX-License-Identifier: Apache-2.0
// Agents: what sickbayd knows of the agents on the nodes, and what they tell it.
//
// Agents ask, sickbayd answers; what it wants of them is a task (agent_tasks.h).  What an agent finds becomes
// an event `finding`; repeats, told by (node, boot_id, n), are dropped, also after a restart, because the
// journal is where the numbers are kept.  Nobody is drained here: engine/drain reads the events.  All on the
// loop's thread.  Source: doc/design/diagnose.md, "Findings" and "Endpoints".
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ports/http.h"
#include "ports/lifetime.h"
#include "service/active_leave.h"
#include "service/agent_tasks.h"
#include "service/controller.h"
#include "service/fault_book.h"
#include "service/leaving_news.h"
#include "service/node_addresses.h"
#include "service/rank_watches.h"
#include "service/standing_findings.h"
#include "service/swim_groups.h"

namespace sickbay {

class JsonText;

class Agents {
 public:
  /// To be made before the controller's replay, which tells it what the journal has of agents.  `controller`
  /// must outlive it.
  Agents(Loop& loop, Controller& controller, NodeAddresses::LookUp look_up);
  ~Agents();

  /// Whether `caller` is the agent of `node` (NodeAddresses::check).
  void check(const Caller& caller, const std::string& node, std::function<void(Status)> then);

  /// Who a user is, by number; "" where nobody knows.  Without it jobs on a node have numbers of users alone.
  void name_users_by(std::function<std::string(std::uint32_t uid)> name_of) { name_of_ = std::move(name_of); }

  // What agents say.  The answers come when what they tell is durable.
  void hello(const std::string& node, const Json& body, Done<Json> done);
  void take_findings(const std::string& node, const Json& body, Done<Json> done);

  /// Has agents watch each other where an engine wishes it; without it none does.  `random` gives random
  /// bytes.
  void watch_each_other(std::uint16_t port, std::function<std::string(std::size_t)> random);
  void take_report(const std::string& node, const Json& body, Done<Json> done);
  /// The agent's next poll: its tasks over `after`, and what is news to one that `has` this (an older agent
  /// says less of itself).
  void give_tasks(const std::string& node, std::int64_t after, const AgentTasks::Has& has,
                  std::shared_ptr<HttpReply> reply);
  /// Has agents run active checks on so many nodes at once; 0: on all that will.  Without it they are told
  /// nothing of it.  To be called after the replay, which tells whose agents may have leave already.
  void bound_active(int at_once);
  /// How many do, and how many wait (ActiveLeave::counts); null where nobody counts.
  Json active() const { return active_ ? active_->counts() : Json(); }
  /// Has agents run helpers of other nodes' tests; without it none does.
  void lend_peers();
  void take_peer(const std::string& node, const Json& body, Done<Json> done);
  /// Has agents told whether their nodes are leaving.
  void tell_leaving();
  /// Has agents look at the ranks of the runs that engines name.
  void watch_ranks(const hang::Policy& policy);
  void take_ranks(const std::string& node, const Json& body, Done<Json> done);
  /// How the ranks of a job stand (RankWatches::of).
  Json ranks_of(JobId job) const { return ranks_ ? ranks_->of(job) : Json(); }
  /// Where the nodes are.
  NodeAddresses& addresses() { return addresses_; }

  /// What people and engines want of agents.
  AgentTasks& tasks() { return tasks_; }

  /// The member "agent" of a node in GET /v1/nodes; null where none was ever seen.
  Json view(const std::string& node) const;
  void write_view(JsonText& text, const std::string& node) const;
  /// What stands of what its agent found (StandingFindings::of).
  Json findings(const std::string& node) const { return standing_.of(node, loop_.now()); }
  /// The accounts of faults and repairs.
  const FaultBook& faults() const { return faults_; }
  /// Since our start: findings for which no place was left, and tellings that had to wait.
  std::int64_t left_out() const { return left_out_; }
  std::int64_t held_back() const { return held_back_; }
  /// Rises with what view() has of an agent and no event tells; not when one was heard alone.
  std::uint64_t changes() const { return changes_; }
  /// How the agents of the nodes stand that Slurm has.
  struct Presence {
    std::size_t present = 0;  ///< asked something in the last two minutes
    std::size_t silent = 0;   ///< did not, though there is one
    Micros newest{0};         ///< since the last word of any, and
    Micros longest{0};        ///< since that of the one that is silent longest; from our start at most
  };
  Presence presence() const;

  static constexpr std::chrono::minutes kLate{10};   ///< an older finding is history (decisions.md 14)
  static constexpr std::size_t kMostFindings = 500;  ///< of one request

 private:
  struct Agent;

  void apply(const Event& event);
  void save(StateWriter& out) const;
  void restore(StateReader& in);
  void touch(const std::string& node);
  Status may_tell(const std::string& node);
  void spend(const std::string& node, const std::vector<Event>& events, std::int64_t told_again);
  bool changes_nothing(const std::string& node, const Json& finding) const;

  Loop& loop_;
  Controller& controller_;
  NodeAddresses addresses_;
  std::function<std::string(std::uint32_t)> name_of_;
  const TimePoint started_;
  std::map<std::string, Agent> agents_;
  void note_number(const std::string& node, const Json& body);
  StandingFindings standing_;
  std::int64_t left_out_ = 0, held_back_ = 0;
  std::uint64_t changes_ = 0;
  std::int64_t last_finding_ = 0;
  FaultBook faults_;
  AgentTasks tasks_;
  std::unique_ptr<SwimGroups> swim_;      ///< may be null
  std::unique_ptr<RankWatches> ranks_;    ///< likewise
  std::unique_ptr<LeavingNews> leaving_;  ///< likewise
  std::unique_ptr<ActiveLeave> active_;   ///< likewise
  std::unique_ptr<PeerTests> peers_;      ///< likewise
  Lifetime lifetime_;
};

}  // namespace sickbay
