// SPDX-License-Identifier: Apache-2.0
// Agent: a node examines itself, and tells sickbayd.
//
// One run at a time: those that the periods want, in the order of their ticks, and before them those that
// sickbayd orders.  What a run finds goes to the store first and from there to sickbayd, oldest first, so
// that a crash or an absent sickbayd loses nothing.  A finding that stands is told once in each boot and
// again each hour; when a whole run of the same mode passes without it, or its rule is gone from the
// specification, that is told, too.  What reached sickbayd late, so that it is history there, is looked at
// again at once.  The agent never drains: it has no way to.  Repairs need the permission
// of site, period and request, and their budgets outlive the agent.  Stress of the node needs a node on which
// neither Slurm nor the list of processes has a job, and ends when one comes; what nobody tells is busy.
// Active checks, stress among them, need leave of sickbayd, which lends it to some nodes at a time: a run
// that can come to one waits for it, and quick looks go on meanwhile (agent_leave.cc).  A test that needs a
// helper on another node gets it by sickbayd, and this node runs such ones for others (agent_peers.cc).
// Source: doc/design/diagnose.md, "Order of an agent's life".
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/active_word.h"
#include "ports/agent_store.h"
#include "ports/http_client.h"
#include "ports/lifetime.h"
#include "service/agent/component_restarts.h"
#include "service/agent/diagnosis.h"
#include "service/agent/job_times.h"
#include "service/agent/modes.h"
#include "service/agent/neighbours.h"
#include "service/agent/peer_helper.h"
#include "service/agent/peered_operations.h"
#include "service/agent/rank_looks.h"
#include "service/agent/timetable.h"

namespace sickbay::agent {

struct AgentOptions {
  std::string node, boot_id, version;
  bool repair = false;  ///< the site permits repairs
  Overrides every;
  std::function<void(const std::string& line)> log;  ///< one key=value line; may be empty
  /// Whether a step of a job runs here, by the processes; nothing, as where it is empty: nobody can tell.
  std::function<std::optional<bool>()> busy;
  /// The jobs with processes here, [{"job", "uid"}]: told with a fault, so that their users can be.  Empty:
  /// none are told.
  std::function<Json()> jobs;
  /// This process, by a name that no other ever has, and whether the one of such a name is there: repairs are
  /// noted under it, so that the next agent can tell of one that was cut short.
  std::string self;
  std::function<bool(const std::string& process)> lives;
  /// For groups of nodes that watch each other; without it sickbayd is not told that this agent can.
  OpenDatagrams datagrams;
  AskByTcp ask_by_tcp;  ///< those that the neighbours do not hear
  swim::Random random;
  /// What this node tells for the comparison of the fleet (adapters/node/fleet_facts.h); empty: nothing.
  std::function<Json()> facts;
  std::chrono::seconds facts_every{120};  ///< pause between two readings of it
  LookAtRanks look_at_ranks;              ///< without it sickbayd is not told that this agent can
  TimesSource times;                      ///< of the processes of jobs; used where look_at_ranks is there
  /// Shows programs on this node since when it is leaving, or that it is not (nothing); `leaving` is what it
  /// shows already.  Without it sickbayd is not told that this agent can.
  std::function<Status(std::optional<TimePoint> since)> show_leaving;
  std::optional<TimePoint> leaving;
  /// What this node can restart by itself, and what runs it; without the latter nothing.
  std::vector<ComponentSpec> components;
  ProcessRunner* processes = nullptr;
};

class Agent {
 public:
  /// `sickbayd` may be null: then it only records.  All must outlive it.
  Agent(Loop& loop, AgentStore& store, OperationRunner& runner, HttpClient* sickbayd,
        std::vector<std::shared_ptr<const diagnose::Rules>> rules, AgentOptions options);
  ~Agent();

  /// Begins to live by the periods and by sickbayd's tasks.
  void start();
  /// From now on these rules, as soon as no run is under way and no task waits; what rules found that are
  /// gone is told as gone.
  void change_rules(std::vector<std::shared_ptr<const diagnose::Rules>> rules);
  /// The files have something that cannot be in force, for `why`, and those before them stay: a finding of
  /// the node, once for each reason and each hour, and gone with "".
  void tell_rules_refused(const std::string& why);
  /// One run of each specification in quick mode, within `limit`; what waits in the store is delivered if
  /// sickbayd answers within a second.  `done` comes once.
  void once(std::chrono::seconds limit, std::function<void()> done);
  /// Of the runs so far: "RULE: text" of the first fault for which a rule would take this node out of service
  /// (drain, reboot, power off); "" where there was none, also where nobody could tell.
  const std::string& sick() const { return sick_; }

 private:
  static constexpr std::chrono::minutes kToldAge{3};  ///< how long sickbayd's word of the node holds
  struct Order {                                      ///< a run that is wanted
    std::size_t rules = 0;
    std::string period;
    Initial initial;
    std::string mode;
    std::int64_t task = 0;       ///< of sickbayd; 0: the timetable's
    bool asked = false;          ///< by somebody, not by the timetable: then `mode` is what he asked for
    std::optional<bool> repair;  ///< his word on repairs; nothing: he had none to say
    bool with_leave = false;     ///< it was begun, or is to begin, with the leave that this node has
    bool made_up_for = false;    ///< a quick one again, for an active check that was refused
  };
  struct TaskState {
    std::size_t left = 0;
    bool whole = true;
    std::string left_out;  ///< why it did not make all its tests; "": it did
    Json runs = Json::array();
  };

  diagnose::NodeUse use() const;
  std::string why_busy() const;
  diagnose::Permits permits(const Order& wanted) const;
  void watch_burdens();
  /// Ends what may run no more: stress beside a job, active checks whose leave is over.
  void end_burdens();
  void plan(std::size_t rules);
  void tick(std::size_t rules);
  void order_period(std::size_t rules, const diagnose::Period& period);
  /// A run of the period began less than `pause` ago.
  bool began_within(std::size_t rules, const diagnose::Period& period, Micros pause) const;
  void use_may_have_changed();
  void watch_jobs();
  void take_changed_rules();
  void order(Order wanted, bool first);
  void next_order();
  void begin(Order wanted);

  // Active checks (agent_leave.cc).
  std::string mode_of_order(const Order& wanted) const;
  bool has_leave() const { return loop_.now() < leave_until_; }
  /// Why a run may make none now; "" where it may.
  std::string why_no_leave(const Order& wanted) const;
  /// Whether nothing but leave keeps an active check of it from running.
  bool lacks_leave_alone(const Order& wanted) const;
  /// Whether it has to wait for leave before it begins.
  bool waits_for_leave(const Order& wanted) const;
  /// Whether it could begin now, with leave.
  bool is_ready(const Order& wanted) const;
  /// Whether its period, where it is of one, holds now; `at_all`: or would, for another use of the node.
  bool period_holds(const Order& wanted, bool at_all) const;
  void hold(Order wanted);
  /// Has those that waited for leave begin, or that need to wait no more; drops those whose time is over.
  void look_at_held();
  /// All of its node that waited begin with leave.
  void begin_held();
  void hold_for_what_was_refused(const Order& wanted, const diagnose::Run& run);
  /// What the next poll says.
  ActiveWord active_word() const;
  void take_leave(const Json& told, ActiveWord said, TimePoint asked);

  // Tests of two nodes (agent_peers.cc).
  void ask_for_peer(Json body, Done<Json> done);
  /// From now on this node may be asked to run helpers.
  void serve_others();
  /// The operation that is to run as the helper of another node's test.  Errors: not_found, denied, conflict.
  Result<OperationCall> find_helper(const std::string& specification, const std::string& operation);
  void take_serve(const Json& told);
  void begin_helper();

  void begin_task(std::int64_t task, const std::string& mode, bool repair, bool with_leave);
  void found(const Order& wanted, const diagnose::Finding& finding);
  void over(const Order& wanted, TimePoint began, const diagnose::Run& run, Micros cpu);
  /// Of each operation that asks for it: how often in a row it could not be told; zeros are left out.
  void keep_unknown_runs(const std::string& specification, const std::map<std::string, int>& runs);
  void tell_cut_repairs();
  void end_repair(const Json& noted);
  /// For the accounts of the site: what was repaired, and what came of it.
  void tell_repair(const std::string& specification, const std::string& rule, const std::string& operation,
                   std::string_view result, const std::string& text, Micros took);
  void tell_cleared(const Order& wanted, const diagnose::Run& run);
  void tell_gone_rules();
  void forget_fired(const std::vector<std::string>& keys);
  /// Has a fresh look say again what reached sickbayd too late to be acted on: faults and their ends.
  void confirm(const std::vector<Json>& late);
  /// Takes over what sickbayd has as standing and this agent has no account of, for its state was lost: so
  /// that a run which finds it no more says so.
  void take_standing(const Json& told);
  /// Has runs made now, by specification and mode, each once.
  void look_again(const std::vector<std::pair<std::size_t, std::string>>& runs, const std::string& why);
  /// Of the findings of the run so far those that are news, with one write.
  void keep_found();
  void keep(Json finding);
  void keep(std::vector<Json> findings);
  /// A finding that no run made: nobody acts on it.
  Json said_besides(std::string_view specification, std::string_view rule, std::string_view result,
                    std::string_view text) const;
  Order asked_for(std::size_t rules, const std::string& mode, std::string period) const;
  void later(Micros in, std::function<void()> what);

  void ask(HttpQuestion asked, Done<Json> done);
  void hello();
  /// Reads the facts of the node anew where the last reading is old; true where sickbayd knows others.
  bool facts_are_news();
  void poll();
  void take_tasks(const Json& answer, ActiveWord said, TimePoint asked);
  void leave_task(std::int64_t task);
  /// Tells that a task was not run at all.
  void end_unrun(std::int64_t task, std::string_view why);
  void take_leaving(const Json& told);
  void take_component_task(std::int64_t task, const Json& order);
  void post_results(std::int64_t task, Json body);
  void post_silent(Json report);
  void post_ranks(Json report);
  void deliver();
  void again_later(std::function<void()> what, int& failures);
  HttpQuestion question(const std::string& path, Json body) const;
  void say(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  Loop& loop_;
  AgentStore& store_;
  OperationRunner& runner_;
  HttpClient* sickbayd_;
  PeeredOperations peered_;  ///< by which runs have their operations run
  std::vector<std::shared_ptr<const diagnose::Rules>> rules_;
  std::optional<std::vector<std::shared_ptr<const diagnose::Rules>>> changed_rules_;  ///< wait for a pause
  const AgentOptions options_;

  std::vector<Loop::TimerId> ticks_;  ///< by rules
  /// By rules: the ticks that are waited for, and when a run of a period began last, by its name.
  std::vector<std::map<std::string, TimePoint>> due_, began_;
  diagnose::NodeUse planned_use_ = diagnose::NodeUse::any;  ///< the periods were chosen for
  bool step_seen_ = false;                                  ///< a step ran here at the last look
  Loop::TimerId job_watch_ = 0;
  std::deque<Order> orders_;
  std::deque<Order> held_;  ///< wait for leave
  std::shared_ptr<Diagnosis> running_;
  Order running_order_;  ///< what it is for
  std::int64_t run_number_ = 0;
  std::string sick_;                ///< see sick()
  std::vector<Json> run_findings_;  ///< of the run under way, for a task's results
  std::vector<Json> found_;         ///< of them, those that are not looked at yet
  std::deque<Json> unkept_;         ///< the store would not take them
  std::map<std::int64_t, TaskState> tasks_;
  std::string mode_ = "quick", period_;

  std::int64_t last_task_ = 0;
  std::optional<diagnose::NodeUse> told_use_;  ///< by sickbayd
  std::string told_state_;                     ///< Slurm's words for it
  bool told_idle_ = false;                     ///< it has no job
  TimePoint told_at_ = kNoTime;
  std::optional<bool> bounded_;  ///< active checks need leave; nothing: no sickbayd was heard yet
  TimePoint heard_at_ = kNoTime, leave_until_ = kNoTime;
  std::string others_;  ///< how many nodes have leave, for people
  Loop::TimerId burden_watch_ = 0;
  bool delivering_ = false, only_once_ = false;
  std::string greeted_mode_;                          ///< mode and period that sickbayd was told
  Json facts_, told_facts_;                           ///< of this node; as sickbayd was told
  std::optional<TimePoint> leaving_, shown_leaving_;  ///< as sickbayd told; as programs here are shown
  bool leaving_fails_ = false;                        ///< it could not be shown, and that was said
  TimePoint facts_at_ = kNoTime;
  int poll_failures_ = 0, deliver_failures_ = 0;
  std::unique_ptr<Neighbours> neighbours_;                 ///< may be null
  std::unique_ptr<RankLooks> rank_looks_;                  ///< likewise
  std::unique_ptr<JobTimes> job_times_;                    ///< likewise
  std::unique_ptr<ComponentRestarts> component_restarts_;  ///< likewise
  std::unique_ptr<PeerHelper> helper_;                     ///< likewise
  bool helper_needs_idle_ = false;                         ///< the one that was found last
  std::function<void()> once_done_;
  std::function<void()> delivered_;  ///< nothing waits any more
  Lifetime lifetime_;
};

}  // namespace sickbay::agent
