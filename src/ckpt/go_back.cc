// SPDX-License-Identifier: Apache-2.0
#include "ckpt/go_back.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error_json.h"
#include "ckpt/agree.h"
#include "ckpt/told.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::Control;

// Another one may be whole.
bool is_damage_of(const Error& error) {
  return error.code == ErrorCode::bad_input || error.code == ErrorCode::not_found;
}

// What lies in a fast place is a copy: whatever is the matter with it.
bool may_be_elsewhere(const Error& error) {
  return is_damage_of(error) || error.code == ErrorCode::storage_broken || error.code == ErrorCode::denied;
}

class GoingBack {
 public:
  GoingBack(Series& series, const Participant& me, const BackWish& wish, const Waiting& waiting, Board board)
      : series_(series), me_(me), wish_(wish), waiting_(waiting), board_(std::move(board)) {}

  Result<WentBack> run() {
    const TimePoint start = waiting_.now();
    const auto turn = next_turn(board_, me_);
    if (!turn) return tl::unexpected<Error>(turn.error());
    turn_ = *turn;
    const Status done = me_.rank == 0 ? lead() : follow();
    if (!done) return tl::unexpected<Error>(done.error());
    back_.took = waiting_.now() - start;
    back_.turn = turn_;
    back_.notes.insert(back_.notes.begin(), notes_.begin(), notes_.end());
    return std::move(back_);
  }
  void note(std::string text) { notes_.push_back(std::move(text)); }

 private:
  // ---- rank 0

  Status lead() {
    // Whatever came of it, the others hear it: none of them waits for its timeout.
    Status done = try_all();
    Json end = Json::object({{"turn", turn_}, {"round", round_}});
    end.set("state", !done ? "failed" : back_.number == 0 ? "none" : "restored");
    if (!done) end.set("error", error_to_json(done.error()));
    if (auto said = say_in_turn(board_, std::move(end)); !said && done) return said;
    count();
    return done;
  }

  Status try_all() {
    // A replay (`begin_at`) goes on from its own tip once it has one: it may have failed and come again.
    const SeriesState had = read_state(series_);
    const bool begun = had.tip_job == me_.in_job && had.tip > 0;
    const std::int64_t from = wish_.from != 0 || wish_.begin_at == 0 ? wish_.from
                              : begun                                ? had.tip
                                                                     : wish_.begin_at;
    // (The second has control files alone; whether the packs are whole shows when each process looks for its
    // own.)
    const checkpoint::Store stores[] = {series_.store, series_.noted};
    auto way = checkpoint::way_back(stores, from);
    if (!way && way.error().code == ErrorCode::not_found && from == 0)
      return came_to(0);  // the program begins
    if (!way) return tl::unexpected<Error>(std::move(way.error()));
    back_.notes = std::move(way->notes);
    for (const checkpoint::Candidate& one : way->line) {
      if (one.whole.empty()) {
        back_.notes.push_back(one.wrong);
        continue;
      }
      const auto taken = try_one(one.whole.front().second);
      if (!taken) return tl::unexpected<Error>(taken.error());
      if (!*taken) continue;
      if (one.number != way->wished)
        back_.notes.push_back(fmt::format("checkpoint {} was taken instead", one.number));
      return came_to(one.number);
    }
    Error error =
        checkpoint::damaged(fmt::format("no checkpoint from {} on backwards is whole", way->wished));
    if (!back_.notes.empty()) error.cause = back_.notes.front();
    return fail(std::move(error));
  }

  // True: all have it in place.  False: it is damaged for one, and nothing was changed.
  Result<bool> try_one(const Control& control) {
    ++round_;
    if (auto said = say("try", control.number); !said) return tl::unexpected<Error>(std::move(said.error()));
    std::optional<Error> refused;  // by anyone
    // All have said `phase`, or failed. Of several errors one is kept, and every damage is noted for the
    // owner.
    const auto gather = [&](std::string_view phase) -> Status {
      const auto all = board_.gather(waiting_, [&](const Json& a) {
        return a["turn"].as_int() == turn_ && a["round"].as_int() == round_ &&
               (a["phase"].as_string() == phase || a.has("failed"));
      });
      if (!all) return tl::unexpected<Error>(all.error());
      back_.raw = 0;
      for (std::size_t rank = 0; rank < all->size(); ++rank) {
        back_.raw += static_cast<std::uint64_t>((*all)[rank]["raw"].as_int());
        if (!(*all)[rank].has("failed")) continue;
        Error error = error_from_json((*all)[rank]["failed"]);
        const bool damage = is_damage_of(error);
        if (damage)
          back_.notes.push_back(fmt::format("checkpoint {}, rank {}: {}", control.number, rank, error.what));
        // What is no damage goes before what is: no other checkpoint would help.
        if (!refused || !damage)
          refused = std::move(error).in(fmt::format("restoring what rank {} had", rank));
      }
      if (refused) return fail(*refused);
      return {};
    };
    // Between reading and taking places: the others are asked, and only then may rank 0's own files be
    // changed.
    bool asked = false;
    const auto restored = restore(control, [&]() -> Status {
      asked = true;
      if (auto told = answer("ready", {}); !told) return told;
      if (auto all = gather("ready"); !all) return all;
      return say("take", control.number);
    });
    if (!restored && !asked) {
      if (auto told = answer("ready", restored.error()); !told) return tl::unexpected<Error>(told.error());
      if (auto all = gather("ready"); !all && !refused) return tl::unexpected<Error>(all.error());
      if (!refused) refused = restored.error();
    }
    // Nobody has answered in time, or rank 0 itself could not take its places when all others might: then
    // they say no "ready" any more, and all of them wait for the end of this turn.
    if (!restored && !refused) return tl::unexpected<Error>(restored.error());
    if (refused && is_damage_of(*refused)) return false;
    if (refused) return fail(*refused);
    if (auto told = answer("done", {}); !told) return tl::unexpected<Error>(told.error());
    if (auto all = gather("done"); !all) return tl::unexpected<Error>(all.error());
    return true;
  }

  // The tip is where the next checkpoint goes on from; `last` rises too, since series.json may have been
  // lost.
  Status came_to(std::int64_t number) {
    back_.number = number;
    SeriesState state = read_state(series_);
    state.last = std::max(state.last, number);
    state.tip = number;
    state.tip_job = me_.in_job;
    state.tip_restart = me_.restart;
    return write_state(series_, state);
  }

  Status say(std::string_view state, std::int64_t number) {
    return say_in_turn(
        board_, Json::object({{"turn", turn_}, {"round", round_}, {"state", state}, {"number", number}}));
  }

  // ---- the others

  Status follow() {
    for (;;) {
      const std::int64_t had = round_;
      // What is new: a later round of this turn, its end, or a later turn (then this process was left
      // behind).
      const auto heard = board_.hear(waiting_, [&](const Json& said) {
        if (said["turn"].as_int() > turn_) return true;
        return said["turn"].as_int() == turn_ &&
               (said["round"].as_int() > had || is_end(said["state"].as_string()));
      });
      if (!heard) return tl::unexpected<Error>(heard.error());
      const auto own = said_in_turn(*heard, turn_);
      // (One turn ahead, rank 0 still tells how this one ended.)
      if (!own || ((*heard)["turn"].as_int() > turn_ && !is_end((*own)["state"].as_string()))) {
        (void)answer("ready", Error(ErrorCode::conflict, "this process came too late"));
        return fail(ErrorCode::conflict, "the other processes have gone back without this one");
      }
      const std::string& state = (*own)["state"].as_string();
      if (state == "failed") {
        count();
        return fail(error_from_json((*own)["error"]));
      }
      if (state == "none") {
        back_.number = 0;
        return answer("done", {});
      }
      if (state == "restored") return {};
      round_ = (*heard)["round"].as_int();
      if (state != "try") continue;  // (it was decided without us: the next word tells)
      const std::int64_t number = (*heard)["number"].as_int();
      // (Has this process got as far as "all mine is whole"? Then the others decide, else it fails by
      // itself.)
      bool asked = false;
      const auto control = find_control(series_, number);
      Result<std::uint64_t> restored =
          control ? Result<std::uint64_t>(0) : tl::unexpected<Error>(control.error());
      if (control)
        restored = restore(*control, [&]() -> Status {
          asked = true;
          if (auto told = answer("ready", {}); !told) return told;
          const auto decided = board_.hear(waiting_, [&](const Json& said) {
            return said["turn"].as_int() != turn_ || said["round"].as_int() != round_ ||
                   said["state"].as_string() != "try";
          });
          if (!decided) return tl::unexpected<Error>(decided.error());
          if ((*decided)["turn"].as_int() == turn_ && (*decided)["round"].as_int() == round_ &&
              (*decided)["state"].as_string() == "take")
            return {};
          // An end of restore() that is no fault of this process: it goes on to the next round.
          taken_ = false;
          return fail(ErrorCode::conflict, "another process cannot go back to it");
        });
      if (!restored && asked && !std::exchange(taken_, true)) continue;  // the next one
      // Rank 0 has said nothing for as long as one waits: there is nobody to answer.
      if (!restored && asked && restored.error().code == ErrorCode::timed_out)
        return tl::unexpected<Error>(std::move(restored.error()));
      Status told = restored ? answer("done", {}) : answer("ready", restored.error());
      if (!told) return told;
      if (restored) back_.number = number;
    }
  }

  static bool is_end(std::string_view state) {
    return state == "failed" || state == "none" || state == "restored";
  }

  // ---- all

  Result<std::uint64_t> restore(const Control& control, const std::function<Status()>& ready) {
    const auto warnings = check_fit(control, {.job = me_.job,
                                              .uid = me_.uid,
                                              .nodes = me_.nodes,
                                              .binary_digest = wish_.binary_digest,
                                              .processes = me_.ranks});
    if (!warnings) return tl::unexpected<Error>(warnings.error());
    std::vector<std::int64_t> own;
    raw_ = 0;
    for (const checkpoint::Image& image : control.images) {
      // More or fewer processes than it was taken by: images are dealt out in turn.
      if (image.rank % me_.ranks != me_.rank) continue;
      own.push_back(image.rank);
      raw_ += image.raw;
    }
    auto raw = restore_somehow(control, own, ready);
    if (!raw) return raw;
    back_.label = control.label;
    back_.raw = *raw;
    back_.notes.insert(back_.notes.end(), warnings->begin(), warnings->end());
    return raw;
  }

  // From the fast place, where it is whole there, else from shared storage.
  Result<std::uint64_t> restore_somehow(const Control& control, const std::vector<std::int64_t>& own,
                                        const std::function<Status()>& ready) {
    back_.fast = false;
    // Asked before anything else: where it is on shared storage, what is missing there is damage, and no
    // keeper is asked.
    const bool is_flushed = series_.store.read_control(control.number).has_value();
    std::string not_here;
    // With other numbers of processes than it was taken by, a fast place has the packs of other ranks: it is
    // not used.
    if (series_.fast && own.size() == 1 && own.front() == me_.rank) {
      bool asked = false;
      auto raw = series_.fast->store.restore(
          control, own, wish_.target, wish_.threads,
          [&] {
            asked = true;
            return ready();
          },
          wish_.memory);
      back_.fast = raw.has_value();
      // Once the others were asked a second source must not be tried: they would be asked twice.
      if (raw || asked || !may_be_elsewhere(raw.error())) return raw;
      not_here = raw.error().what;
      if (raw.error().code != ErrorCode::not_found)
        back_.notes.push_back(
            fmt::format("checkpoint {} in {}: {}", control.number, series_.fast->store.folder(), not_here));
    }
    auto raw = series_.store.restore(control, own, wish_.target, wish_.threads, ready, wish_.memory);
    if (raw || is_flushed || raw.error().code != ErrorCode::not_found) return raw;
    if (const auto fetched = fetch(control.number, own); fetched) {
      raw = series_.fast->store.restore(control, own, wish_.target, wish_.threads, ready, wish_.memory);
      back_.fast = raw.has_value();
      return raw;
    } else if (not_here.empty()) {
      not_here = fetched.error().line();
    }
    return fail(Error(ErrorCode::not_found,
                      fmt::format("it was in the fast place of a node, {} does not have it, and it had not "
                                  "come to shared storage",
                                  me_.node))
                    .because(not_here));
  }

  // From a partner's node.
  Status fetch(std::int64_t number, const std::vector<std::int64_t>& own) {
    if (!series_.fast || !series_.fetch || own.size() != 1 || own.front() != me_.rank)
      return fail(ErrorCode::not_found, "");
    return series_.fetch(number);
  }

  // What ended before anyone was asked is a turn of this process, too: its next one is the others' next one.
  void count() {
    if (!answered_) (void)answer("done", {});
  }

  Status answer(std::string_view phase, const std::optional<Error>& failed) {
    answered_ = true;
    Json json = Json::object({{"turn", turn_}, {"round", round_}, {"phase", phase}, {"raw", raw_}});
    if (failed) json.set("failed", error_to_json(*failed));
    return board_.answer(std::move(json));
  }

  Series& series_;
  const Participant& me_;
  const BackWish& wish_;
  const Waiting& waiting_;
  Board board_;
  std::int64_t turn_ = 0, round_ = 0, raw_ = 0;
  bool taken_ = true, answered_ = false;
  std::vector<std::string> notes_;
  WentBack back_;
};

}  // namespace

Result<WentBack> go_back(Series& series, const Participant& me, const BackWish& wish,
                         const Waiting& waiting) {
  auto board = Board::open(*series.files, series.board, me, "back");
  if (!board) return tl::unexpected<Error>(std::move(board.error()));
  auto lock = lock_for(series, me);
  if (!lock) return tl::unexpected<Error>(std::move(lock.error()));
  GoingBack going(series, me, wish, waiting, std::move(*board));
  // Before it looks for the newest: an earlier rank 0 may have died after all had saved. Only with the lock,
  // which says that it is dead.
  if (me.rank == 0 && *lock)
    if (const auto left = publish_left(series)) going.note(note_of_left(*left));
  return going.run();
}

}  // namespace sickbay::ckpt
