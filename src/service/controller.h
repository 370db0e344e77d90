// SPDX-License-Identifier: Apache-2.0
// The controller: the one loop that joins journal, engine, ledger and effects.
//
// Everything happens in rounds.  A round takes the events that have come in, applies them, asks the engine
// about the cases they touched, and commits events and intents in ONE transaction; only then are effects
// started, callers answered and streams fed.  When the commit fails (a full disk) nothing of that happens:
// the round is kept and tried again, and until then nothing new is taken in.
// Source: doc/design/decisions.md 11-17, 20, 26; ARCHITECTURE.md.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/job.h"
#include "ports/journal.h"
#include "ports/loop.h"
#include "ports/resource_manager.h"
#include "service/config.h"
#include "service/engine_seat.h"
#include "service/ledger.h"

namespace sickbay {

class Effects;

class Controller {
 public:
  Controller(Loop& loop, Journal& journal, ResourceManager& manager, Effects& effects, const Config& config);

  /// Reads the whole journal, once, into the state and to those who asked with on_replayed().  Errors:
  /// storage_broken, too_new.
  Status replay();
  /// Begins to work: reconciles what was under way and looks at all open cases, after a first complete
  /// refresh.
  void start();

  /// Takes in facts from outside; `kept` is called when they are durable, or with the reason why they are
  /// not.
  void take(std::vector<Event> events, std::function<void(Status)> kept = nullptr);
  /// The same for who answers a request: `done` gets `answer` when the events are durable, at once where
  /// there are none.
  void take(std::vector<Event> events, Json answer, Done<Json> done);
  /// Drops a closed case whose events were archived: what a replay would now give.
  void forget(std::int64_t no);
  /// A number that no case has had.
  std::int64_t new_case_number() { return ++last_case_given_; }

  const identify::State& state() const { return cases_.state(); }
  const drain::State& drains() const { return drains_.state(); }
  const drain::Policy& drain_policy() const { return drains_.policy(); }
  /// Nodes as last seen, all of Slurm's fields.
  const std::map<std::string, NodeInfo>& nodes() const { return nodes_; }
  /// Calls `then` with nodes() after a look that is at most `max_age` old, or with the reason why there is
  /// none.
  void with_nodes(std::chrono::seconds max_age, std::function<void(Status)> then);

  /// Called with each event of the journal by replay(), in order; to be asked for before.  The state is then
  /// that after the event.
  void on_replayed(std::function<void(const Event&)> listener);
  /// Called with each committed event, in order.
  void on_committed(std::function<void(const Event&)> listener) { listeners_.push_back(std::move(listener)); }

  struct Health {
    Status journal;                   ///< why the journal does not take events, if so
    Status slurm;                     ///< why the last refresh failed, if so
    TimePoint slurm_since = kNoTime;  ///< since when it is as it is
    std::uint64_t rounds = 0, events = 0, refreshes = 0;
    Micros longest_round{0};
  };
  const Health& health() const { return health_; }
  const Ledger& ledger() const { return ledger_; }
  Journal& journal() { return journal_; }
  TimePoint now() const;
  /// The canonical text of everything that a replay must bring back.
  std::string canonical_text() const {
    return identify::canonical_text(cases_.state()) + drain::canonical_text(drains_.state());
  }

 private:
  void schedule_round();
  void round();
  void absorb(Event event);
  void ask_engines();
  bool ask(EngineSeat& seat);
  bool wants_refresh() const;
  bool commit();
  void after_commit();
  void run_command(const Command& command, bool again);

  void plan_refresh();
  void refresh();
  void take_snapshot(Snapshot snapshot);
  void ask_history(std::vector<JobId> jobs);
  std::vector<Event> node_events(const Snapshot& snapshot);

  Loop& loop_;
  Journal& journal_;
  ResourceManager& manager_;
  Effects& effects_;
  const Config& config_;

  IdentifySeat cases_;
  DrainSeat drains_;
  const std::vector<EngineSeat*> seats_{&cases_, &drains_};
  Ledger ledger_;
  std::map<std::string, NodeInfo> nodes_;

  std::vector<std::pair<std::vector<Event>, std::function<void(Status)>>> inbox_;
  std::vector<Event> batch_;       ///< applied, not yet committed
  std::vector<Command> to_start_;  ///< intended in batch_
  std::vector<std::function<void(Status)>> to_answer_;
  std::map<std::string, Loop::TimerId> wakes_;  ///< by subject
  bool round_scheduled_ = false, stuck_ = false, replayed_ = false, started_ = false, complete_ = false;

  bool refreshing_ = false;
  Loop::TimerId refresh_timer_ = 0;
  bool refresh_planned_ = false;
  TimePoint refresh_due_ = kNever;
  TimePoint last_refresh_ = kNoTime;
  Micros refresh_cost_{0};
  std::map<JobId, int> absent_looks_;  ///< how often in a row a watched job was nowhere
  std::vector<std::pair<TimePoint, std::function<void(Status)>>> node_waiters_;

  std::int64_t last_case_given_ = 0;
  TimePoint last_stamp_ = kNoTime;
  std::vector<std::function<void(const Event&)>> listeners_, replay_listeners_;
  Health health_;
};

}  // namespace sickbay
