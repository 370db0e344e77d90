// SPDX-License-Identifier: Apache-2.0
#include "service/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/state_archive.h"
#include "model/ids.h"
#include "service/effects.h"

namespace sickbay {
namespace {

constexpr std::chrono::milliseconds kFullDiskRetry{1000};
constexpr int kTurns = 16;  // for one subject in one round: who needs more goes in a circle

}  // namespace

Controller::Controller(Loop& loop, Journal& journal, ResourceManager& manager, Effects& effects, Seats& seats,
                       const Config& config)
    : loop_(loop),
      journal_(journal),
      effects_(effects),
      seats_(seats),
      watch_(loop, manager, seats, config.refresh_floor) {
  watch_.on_news([this](std::vector<Event> events) { take(std::move(events)); });
  // What was under way when sickbayd ended is reconciled when it is known how Slurm stands; of two sickbayds,
  // when its intents count: the other may not have them, and would intend them anew.
  watch_.on_complete([this] {
    to_reconcile_ = ledger_.unfinished();
    schedule_round();
  });
}

// Never backwards, also when somebody has set the clock back (decisions.md 10).
TimePoint Controller::now() const { return std::max(last_stamp_, loop_.now()); }

void Controller::on_replayed(Book book) {
  SB_CHECK(!replayed_, "the journal is read once: who listens must be there before");
  books_.push_back(std::move(book));
}

Result<Controller::Replayed> Controller::replay(const KeptState* from) {
  replayed_ = true;
  Replayed done;
  if (from != nullptr) {
    StateReader in(from->bytes);
    restore(in);
    if (in.done()) {
      done.from = done.last = from->seq;
    } else {
      done.unreadable = true;
      StateReader nothing = StateReader::of_nothing();
      restore(nothing);
    }
  }
  auto status = journal_.read(done.from, [&](const Event& event) {
    seats_.replay(event);
    ledger_.apply(event);
    for (const Book& book : books_) book.apply(event);
    ++done.events;
    done.last = event.seq;
    return true;
  });
  if (!status) return fail(std::move(status.error()));
  last_stamp_ = journal_.last_stamp();
  return done;
}

std::string Controller::save() const {
  StateWriter out;
  seats_.save(out);
  out(ledger_);
  for (const Book& book : books_) {
    out(book.name);
    book.save(out);
  }
  return out.take();
}

void Controller::restore(StateReader& in) {
  seats_.restore(in);
  Ledger ledger;
  in(ledger);
  ledger_ = in.good() ? std::move(ledger) : Ledger();
  for (const Book& book : books_) {
    // Who lists his books in another order than whoever saved them gets nothing of what is another's.
    std::string name;
    in(name);
    if (name != book.name) in = StateReader::of_nothing();
    book.restore(in);
  }
}

void Controller::forget(const std::string& subject) {
  for (const auto& seat : seats_.all()) seat->forget(subject);
  ledger_.forget(subject);
}

void Controller::start() {
  started_ = true;
  // Claims come before anything else: what is out already must be counted before anybody is asked.
  std::vector<Event> owed;
  for (const auto& seat : seats_.all())
    for (const cluster::Claim& claim : seat->owed())
      if (!seats_.cluster().claims.holds(claim.holder, claim.by, claim.on, now()))
        owed.push_back(cluster::Claims::claimed(claim));
  if (!owed.empty()) take(std::move(owed));
  for (const auto& seat : seats_.all()) {
    seat->started(now());
    seat->touch_all();
  }
  watch_.start();
}

void Controller::hold_by(Hold hold) {
  hold_ = std::move(hold);
  effects_.begin_tries_by(
      [this](std::function<void()> then) { hold_(journal_.last_seq(), std::move(then)); });
}

void Controller::heard(const std::string& node) {
  bool is_waited_for = false;
  for (const auto& seat : seats_.all()) is_waited_for |= seat->heard(node, now());
  if (is_waited_for) schedule_round();
}

void Controller::take(std::vector<Event> events, std::function<void(Status)> kept) {
  if (stuck_) {
    // What we saw ourselves is seen again later; a caller must know that his word was not kept.
    if (kept)
      loop_.post(
          [kept = std::move(kept), why = health_.journal.error()]() mutable { kept(fail(std::move(why))); });
    return;
  }
  inbox_.emplace_back(std::move(events), std::move(kept));
  schedule_round();
}

void Controller::take(std::vector<Event> events, Json answer, Done<Json> done) {
  if (events.empty()) return done(std::move(answer));
  take(std::move(events), [answer = std::move(answer), done = std::move(done)](Status kept) mutable {
    if (!kept) return done(fail(std::move(kept.error())));
    done(std::move(answer));
  });
}

// --- a round

void Controller::schedule_round() {
  if (round_scheduled_ || stuck_) return;
  round_scheduled_ = true;
  loop_.post([this] {
    round_scheduled_ = false;
    round();
  });
}

void Controller::round() {
  const TimePoint began = loop_.now();
  for (auto& [events, kept] : inbox_) {
    for (Event& event : events) {
      const bool look = event.kind == kNodesSeen;
      absorb(std::move(event));
      // Something new has happened to it: perhaps the engine settles now.  (A look at nodes touches many, and
      // is news for few; it would have a circle begin anew with each look.)
      if (!look)
        std::erase_if(parked_, [](const Place& place) { return place.first->is_touched(place.second); });
    }
    if (kept) to_answer_.push_back(std::move(kept));
  }
  inbox_.clear();
  // Before the first whole look the state is that of the last sickbayd, which may be hours old: nobody acts
  // on it.
  if (started_ && watch_.complete()) ask_engines();
  ++health_.rounds;
  if (commit()) after_commit();
  health_.longest_round =
      std::max(health_.longest_round, std::chrono::duration_cast<Micros>(loop_.now() - began));
}

// The state goes ahead of the journal here.  It is never taken back: a batch that cannot be written is kept,
// and tried until it can.
void Controller::absorb(Event event) {
  event.at = last_stamp_ = now();
  seats_.apply(event);
  ledger_.apply(event);
  batch_.push_back(std::move(event));
}

// Asks until nobody has anything to say.  What one engine says may touch a subject of another.
void Controller::ask_engines() {
  std::map<Place, int> turns;
  for (bool asked = true; asked;) {
    free_waiting();
    asked = false;
    for (const auto& seat : seats_.all()) asked |= ask(*seat, turns);
  }
}

// Asks about all that was touched; false where nothing was.
bool Controller::ask(Seat& seat, std::map<Place, int>& turns) {
  const std::set<std::string> touched = seat.take_touched();
  for (const std::string& subject : touched) {
    const Place place{&seat, subject};
    if (parked_.contains(place)) continue;
    if (++turns[place] > kTurns) {
      park(place, "it wants something new each time that it is asked");
      continue;
    }
    Seat::Turn turn = seat.decide(subject, now());
    // Claims are written first.  With them the engine may want other things, so it is asked again.
    TimePoint retry = kNever;
    if (claim(place, turn.claims, retry)) turn = seat.decide(subject, now());
    turn.wake_at = std::min(turn.wake_at, retry);
    follow(place, std::move(turn));
  }
  return !touched.empty();
}

void Controller::follow(const Place& place, Seat::Turn turn) {
  for (Event& record : turn.records) absorb(std::move(record));
  for (Command& command : turn.commands) {
    if (ledger_.knows(command.key)) continue;  // decide() says the same until it has heard the result
    // The last guard: whatever an engine thinks, no node leaves without the claim that keeps others off it.
    const auto unclaimed = std::ranges::find_if(command.draws, [&](const std::string& node) {
      const cluster::Claim* held = seats_.cluster().claims.find(node_subject(node), now());
      return held == nullptr || held->holder != place.first->name();
    });
    if (unclaimed != command.draws.end())
      return park(place, fmt::format("{} would take {} out without a claim on it", command.key, *unclaimed));
    absorb(Ledger::intent(command));
    to_start_.push_back(std::move(command));
  }
  wake(place, turn.wake_at);
}

// Writes the claims that nobody else holds; true where there were any.  `retry`: when one that somebody else
// holds has passed by itself.
bool Controller::claim(const Place& place, const std::vector<cluster::Claim>& wishes, TimePoint& retry) {
  bool written = false;
  for (const cluster::Claim& wish : wishes) {
    const cluster::Claim* held = seats_.cluster().claims.find(wish.on, now());
    if (held != nullptr && (held->holder != wish.holder || held->by != wish.by)) {
      claim_waiters_[wish.on].insert(place);  // asked again when it is released (free_waiting)
      retry = std::min(retry, held->until);
      continue;
    }
    // The engine may ask for it each time: what has not changed is not written anew.
    if (held != nullptr && held->until == wish.until && held->out == wish.out) continue;
    absorb(cluster::Claims::claimed(wish));
    written = true;
  }
  return written;
}

void Controller::free_waiting() {
  std::erase_if(claim_waiters_, [&](const auto& entry) {
    if (seats_.cluster().claims.find(entry.first, now()) != nullptr) return false;
    for (const Place& place : entry.second) place.first->touch(place.second);
    return true;
  });
}

void Controller::wake(const Place& place, TimePoint when) {
  if (auto old = wakes_.find(place); old != wakes_.end()) {
    loop_.cancel(old->second);
    wakes_.erase(old);
  }
  if (when == kNever) return;
  wakes_[place] = loop_.at(when, [this, place] {
    wakes_.erase(place);
    place.first->touch(place.second);
    schedule_round();
  });
}

// An engine that goes in a circle over one subject must not stop the others: the subject is left alone until
// something new happens to it, or sickbayd starts again, and the journal says so.
void Controller::park(const Place& place, std::string why) {
  if (!parked_.insert(place).second) return;
  wake(place, kNever);
  absorb(new_event(place.second, kParked,
                   Json::object({{"engine", place.first->name()}, {"why", std::move(why)}})));
}

// --- the end of a round

bool Controller::commit() {
  if (batch_.empty()) return true;
  if (auto kept = journal_.append(batch_); !kept) {
    if (!stuck_) {
      // Acting stops here: whoever waits is told, and the round is tried again until a write succeeds.
      for (auto& answer : to_answer_) answer(fail(kept.error()));
      to_answer_.clear();
      watch_.pause();
    }
    stuck_ = true;
    health_.journal = fail(kept.error());
    loop_.at(loop_.now() + kFullDiskRetry, [this] {
      if (!commit()) return;
      stuck_ = false;
      health_.journal = {};
      after_commit();
      watch_.resume();
      schedule_round();
    });
    return false;
  }
  return true;
}

void Controller::after_commit() {
  Committed kept{std::exchange(batch_, {}), std::exchange(to_start_, {}), std::exchange(to_reconcile_, {}),
                 std::exchange(to_answer_, {})};
  health_.events += kept.events.size();
  if (hold_)
    hold_(journal_.last_seq(), [this, kept = std::move(kept)] { act_on(kept); });
  else
    act_on(kept);
  watch_.plan();  // what engines wish to see may have changed with these events
}

void Controller::act_on(const Committed& kept) {
  for (const Command& command : kept.again) run_command(command, true);
  for (const Command& command : kept.commands) run_command(command, false);
  for (const auto& answer : kept.answers) answer({});
  for (const Event& event : kept.events)
    for (const auto& listener : listeners_) listener(event);
}

void Controller::run_command(const Command& command, bool again) {
  effects_.start(command, again, [this, command](Result<Json> result) {
    std::vector<Event> events;
    events.push_back(result ? Ledger::done(command, std::move(*result))
                            : Ledger::failed(command, result.error()));
    // Unlike what take() turns away, the result of an effect must outlast a full disk: it waits in the inbox.
    inbox_.emplace_back(std::move(events), nullptr);
    schedule_round();
  });
}

}  // namespace sickbay
