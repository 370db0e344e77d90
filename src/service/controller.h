// SPDX-License-Identifier: Apache-2.0
// The controller: the one loop that joins journal, engines, ledger and effects.
//
// Everything happens in rounds.  A round takes the events that have come in, applies them, asks the engines
// about the subjects they touched, and commits events and intents in ONE transaction; only then are effects
// started, callers answered and streams fed.  When the commit fails (a full disk) nothing of that happens:
// the round is kept and tried again, and until then nothing new is taken in.
// It knows engines as seats (seat.h), and names none.  Who looks at Slurm is the watch (watch.h).
// Source: doc/design/decisions.md 11-17, 21, 26; ARCHITECTURE.md.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ports/journal.h"
#include "ports/loop.h"
#include "ports/resource_manager.h"
#include "service/config.h"
#include "service/ledger.h"
#include "service/seats/seats.h"
#include "service/watch.h"

namespace sickbay {

class Effects;

/// What a replay up to an event had led to (Controller::save).
struct KeptState {
  std::int64_t seq = 0;  ///< that event
  std::string bytes;
};

class Controller {
 public:
  Controller(Loop& loop, Journal& journal, ResourceManager& manager, Effects& effects, Seats& seats,
             const Config& config);

  /// Reads the whole journal, once, into the state and to those who asked with on_replayed().  With `from`,
  /// the state that a replay up to an event had (save()), only what came after that event is read; what
  /// cannot be restored from those bytes is read all, and Replayed says so.  Errors: storage_broken, too_new.
  struct Replayed {
    std::int64_t from = 0;    ///< the event whose state was restored; 0: none
    std::int64_t events = 0;  ///< that were read
    std::int64_t last = 0;    ///< the last event that is in the state
    bool unreadable = false;  ///< the state that was given could not be restored
  };
  Result<Replayed> replay(const KeptState* from = nullptr);
  /// All that a replay brings back, for replay(): of a controller that was not started, or the bytes have
  /// what the journal does not.
  std::string save() const;
  /// Begins to work: reconciles what was under way and asks about all that is not at rest, after a first
  /// complete look at Slurm.
  void start();

  /// Takes in facts from outside; `kept` is called when they are durable, or with the reason why they are
  /// not.
  void take(std::vector<Event> events, std::function<void(Status)> kept = nullptr);
  /// The same for who answers a request: `done` gets `answer` when the events are durable, at once where
  /// there are none.
  void take(std::vector<Event> events, Json answer, Done<Json> done);
  /// The agent of a node has said something: who waits for that is asked.
  void heard(const std::string& node);
  /// Drops a closed subject whose events were archived: what a replay would now give.
  void forget(const std::string& subject);

  Seats& seats() { return seats_; }
  const Seats& seats() const { return seats_; }
  Watch& watch() { return watch_; }
  const Watch& watch() const { return watch_; }

  /// Somebody whose state comes of a replay.
  struct Book {
    std::string name;                           ///< goes with its state
    std::function<void(const Event&)> apply;    ///< takes in one event; the engines have it by then
    std::function<void(StateWriter&)> save;     ///< its state, as after the events so far,
    std::function<void(StateReader&)> restore;  ///< and back; see StateReader::of_nothing
  };
  /// `book` takes in each event of the journal by replay(), in order, or is restored; to be asked for before.
  void on_replayed(Book book);
  /// Called with each committed event, in order.
  void on_committed(std::function<void(const Event&)> listener) { listeners_.push_back(std::move(listener)); }

  /// What follows from committed events - effects, answers, listeners - and each further try of an effect
  /// waits until `then` is called, which `hold` gets with the number of the last event that is committed.  In
  /// order, each once or never; not after this is gone.  For a site with two sickbayds
  /// (doc/design/standby.md); without it nothing waits.
  using Hold = std::function<void(std::int64_t seq, std::function<void()> then)>;
  void hold_by(Hold hold);

  struct Health {
    Status journal;  ///< why the journal does not take events, if so
    std::uint64_t rounds = 0, events = 0;
    Micros longest_round{0};
  };
  const Health& health() const { return health_; }
  const Ledger& ledger() const { return ledger_; }
  /// Subjects that are not asked about any more, because an engine did not settle on them.
  std::size_t parked() const { return parked_.size(); }
  Journal& journal() { return journal_; }
  const Journal& journal() const { return journal_; }
  TimePoint now() const;
  /// The canonical text of everything that a replay must bring back.
  std::string canonical_text() const { return seats_.canonical_text(); }

 private:
  using Place = std::pair<Seat*, std::string>;  ///< a subject of an engine
  struct Committed {                            ///< by one round
    std::vector<Event> events;
    std::vector<Command> commands;  ///< intended by them
    std::vector<Command> again;     ///< of a sickbayd before: to be reconciled
    std::vector<std::function<void(Status)>> answers;
  };

  void restore(StateReader& in);
  void schedule_round();
  void round();
  void absorb(Event event);
  void ask_engines();
  bool ask(Seat& seat, std::map<Place, int>& turns);
  void follow(const Place& place, Seat::Turn turn);
  bool claim(const Place& place, const std::vector<cluster::Claim>& wishes, TimePoint& retry);
  void free_waiting();
  void wake(const Place& place, TimePoint when);
  void park(const Place& place, std::string why);
  bool commit();
  void after_commit();
  void act_on(const Committed& kept);
  void run_command(const Command& command, bool again);

  Loop& loop_;
  Journal& journal_;
  Effects& effects_;
  Seats& seats_;
  Watch watch_;
  Ledger ledger_;

  std::vector<std::pair<std::vector<Event>, std::function<void(Status)>>> inbox_;
  std::vector<Event> batch_;       ///< applied, not yet committed
  std::vector<Command> to_start_;  ///< intended in batch_
  std::vector<Command> to_reconcile_;
  std::vector<std::function<void(Status)>> to_answer_;
  std::map<Place, Loop::TimerId> wakes_;
  std::map<std::string, std::set<Place>> claim_waiters_;  ///< by what they want to claim
  std::set<Place> parked_;
  bool round_scheduled_ = false, stuck_ = false, replayed_ = false, started_ = false;

  TimePoint last_stamp_ = kNoTime;
  std::vector<std::function<void(const Event&)>> listeners_;
  std::vector<Book> books_;
  Hold hold_;
  Health health_;
};

}  // namespace sickbay
