// SPDX-License-Identifier: Apache-2.0
#include "ckpt/flush.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error_json.h"
#include "checkpoint/tiers.h"
#include "ckpt/agree.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::Control;
using checkpoint::Image;

constexpr Micros kLook = std::chrono::milliseconds(50);

// One at a time flushes for a process, and one more may wait for it: that one sees all that was noted by
// then.
class Turn {
 public:
  // False: another waits already, and this one may leave it to that.
  static Result<bool> take(Turn& turn, Series& series, const Participant& me, const FlushWish& wish,
                           const Waiting& waiting) {
    const std::string stem =
        series.fast ? series.fast->store.folder() + "/" : fmt::format("{}/r{}.", series.board, me.rank);
    // First the place of the one who waits, then that of the one who works. So at most two flushes of a
    // process are alive: a third finds the waiting place taken.
    auto next = wait_for(series, stem + "lock.next", wish.in_background ? Micros(0) : waiting.patience,
                         waiting, turn.next_);
    if (!next || !*next) return next;
    auto own = wait_for(series, stem + "lock.flush", waiting.patience, waiting, turn.own_);
    turn.next_.reset();
    if (own && !*own)
      return fail(Error(ErrorCode::timed_out, "an earlier flush of this process has not ended")
                      .remedied_by("see whether the storage of its node and the shared one answer"));
    return own;
  }

 private:
  static Result<bool> wait_for(Series& series, const std::string& path, Micros patience,
                               const Waiting& waiting, std::unique_ptr<checkpoint::FileLock>& held) {
    const TimePoint until = waiting.now() + patience;
    for (;;) {
      auto lock = series.files->lock(path);
      if (lock) held = std::move(*lock);
      // (A file system without locks: two that flush the same copy the same.)
      if (lock || lock.error().code == ErrorCode::storage_broken) return true;
      if (lock.error().code != ErrorCode::busy) return tl::unexpected<Error>(std::move(lock.error()));
      if (waiting.now() >= until) return false;
      waiting.pause(kLook);
    }
  }
  std::unique_ptr<checkpoint::FileLock> next_, own_;
};

class Flushing {
 public:
  Flushing(Series& series, const Participant& me, const FlushWish& wish, const Waiting& waiting, Board board)
      : series_(series), me_(me), wish_(wish), waiting_(waiting), board_(std::move(board)) {}

  Result<Flushed> run() {
    const Status done = me_.rank == 0 ? lead() : follow();
    // Also after a failure: the fast place must not fill up while shared storage is away.
    if (series_.fast)
      end_old(*series_.files, series_.fast->store, {.count = kKeptFast, .age = {}, .bytes = {}},
              waiting_.now(), flushed_.notes);
    if (!done) return tl::unexpected<Error>(done.error());
    return std::move(flushed_);
  }

 private:
  // The newest that was noted and is not on shared storage; not of a way that the job has left.
  Result<std::int64_t> to_flush() const {
    const auto shared = series_.store.list(), noted = series_.noted.list();
    if (!shared) return tl::unexpected<Error>(shared.error());
    if (!noted) return tl::unexpected<Error>(noted.error());
    // (Above the tip: of a way that the job has left by going back. With another number of images: of a start
    // with more or fewer processes.)
    const std::int64_t there = newest_of(*shared), tip = read_state(series_).tip;
    std::int64_t newest = 0;
    for (const checkpoint::Listed& one : *noted)
      if (one.control && one.number > there && one.number <= tip &&
          one.control->images.size() == static_cast<std::size_t>(me_.ranks))
        newest = one.number;
    return newest;
  }

  // ---- rank 0's

  Status lead() {
    auto said = board_.said();
    if (!said) return tl::unexpected<Error>(said.error());
    turn_ = *said ? (**said)["turn"].as_int() : 0;
    // Until nothing is left: while one was copied, the program may have taken the next.
    for (bool first = true;; first = false) {
      const auto number = to_flush();
      if (!number) return end_turn(wish_.number, tl::unexpected<Error>(number.error()));
      if (*number == 0 && !first) return {};
      if (*number == 0) return nothing_left();
      if (auto one = end_turn(*number, lead_one(*number)); !one) return one;
      clear_behind(*number);
    }
  }

  Status nothing_left() {
    ++turn_;
    if (auto seen = look_at_shared(); !seen) return end_turn(wish_.number, seen);
    Status done;
    // Nothing noted and not on shared storage: it was lost with its fast place, or never was.
    if (flushed_.number < wish_.number)
      done = fail(ErrorCode::not_found, fmt::format("there is no checkpoint {} to flush", wish_.number));
    done = end_turn(std::max(flushed_.number, wish_.number), done);
    if (done) clear_behind(flushed_.number);
    return done;
  }

  Status lead_one(std::int64_t number) {
    ++turn_;
    const auto control = series_.noted.read_control(number);
    if (!control) return tl::unexpected<Error>(control.error());
    if (auto said = board_.say(Json::object({{"turn", turn_}, {"state", "begun"}, {"number", number}}));
        !said)
      return said;
    answer(copy_own(*control));
    // All are there, and then all have done it.  (One that never comes is not waited for as long as a copy
    // may take.)
    const Waiting begin = at_most_begin();
    for (const bool all_done : {false, true}) {
      const auto all = board_.gather(all_done ? waiting_ : begin, [&](const Json& a) {
        return a["turn"].as_int() == turn_ && (!all_done || a["phase"].as_string() != "begun");
      });
      if (!all) return tl::unexpected<Error>(all.error());
      if (!all_done) continue;
      for (std::size_t rank = 0; rank < all->size(); ++rank)
        if ((*all)[rank].has("failed"))
          return fail(
              error_from_json((*all)[rank]["failed"]).in(fmt::format("flushing what rank {} has", rank)));
    }
    // (What was saved to shared storage meanwhile goes before it: it is newer.)
    const auto shared = series_.store.list();
    if (!shared) return tl::unexpected<Error>(shared.error());
    if (newest_of(*shared) >= number) return {};
    // publish() looks at every pack once more: a fault of one process's copy cannot make a checkpoint.
    std::vector<std::int64_t> ranks;
    for (const Image& image : control->images) ranks.push_back(image.rank);
    return series_.store.publish(*control, ranks);
  }

  Status end_turn(std::int64_t number, Status done) {
    Json lead = Json::object({{"turn", turn_}, {"state", done ? "flushed" : "failed"}, {"number", number}});
    // `again` tells others whether this is the end of a first or of a second try.
    if (!done) lead.set("error", error_to_json(done.error())).set("again", wish_.again);
    if (auto said = board_.say(std::move(lead)); !said && done) return said;
    if (done) flushed_.number = number;
    return done;
  }

  // What is on shared storage, or older, is noted no more; and older ones end there.
  void clear_behind(std::int64_t number) {
    std::vector<std::int64_t> over;
    if (const auto noted = series_.noted.list())
      for (const checkpoint::Listed& one : *noted)
        if (one.number <= number) over.push_back(one.number);
    if (!over.empty())
      if (auto gone = series_.noted.remove(over); !gone) flushed_.notes.push_back(gone.error().line());
    end_old(*series_.files, series_.store, wish_.keep, waiting_.now(), flushed_.notes);
  }

  // ---- the others'

  // Where somebody waits for this process, it does not wait long for a rank 0 that may be dead: what it has
  // copied is there, and rank 0's goes on without it.
  Status follow() {
    const Waiting patient = wish_.in_background ? waiting_ : at_most_begin();
    for (std::int64_t target = wish_.number;;) {
      const auto newest = to_flush();
      if (!newest) return tl::unexpected<Error>(newest.error());
      // Rank 0 may have gone on to a newer one, which then stands for the one that was wished.
      target = std::max(target, *newest);
      if (target == 0) return look_at_shared();
      if (flushed_.number >= target) return {};
      const auto heard = board_.hear(patient, [&](const Json& said) {
        const std::string& state = said["state"].as_string();
        if (said["turn"].as_int() <= turn_) return false;
        // (How the first try ended says nothing of the second.)
        const bool ours = state != "failed" || !wish_.again || said["again"].as_bool();
        return state == "begun" || (said["number"].as_int() >= target && ours);
      });
      if (!heard) return tl::unexpected<Error>(heard.error());
      const std::int64_t number = (*heard)["number"].as_int();
      const std::string& state = (*heard)["state"].as_string();
      if (state == "failed") return fail(error_from_json((*heard)["error"]));
      if (state == "flushed") {
        flushed_.number = number;
        continue;
      }
      turn_ = (*heard)["turn"].as_int();
      if (auto told = answer_json("begun", {}); !told) return told;
      const auto control = series_.noted.read_control(number);
      answer(control ? copy_own(*control) : tl::unexpected<Error>(control.error()));
      --turn_;  // (how this one ends is heard, too)
      const auto ended = board_.hear(patient, [&](const Json& said) {
        return said["turn"].as_int() > turn_ + 1 || said["state"].as_string() != "begun";
      });
      if (!ended) return tl::unexpected<Error>(ended.error());
    }
  }

  // ---- all

  Waiting at_most_begin() const {
    Waiting begin = waiting_;
    begin.patience = std::min(wish_.begin, waiting_.patience);
    return begin;
  }

  Status look_at_shared() {
    const auto shared = series_.store.list();
    if (!shared) return tl::unexpected<Error>(shared.error());
    flushed_.number = newest_of(*shared);
    return {};
  }

  Status copy_own(const Control& control) {
    const auto image =
        std::ranges::find_if(control.images, [&](const Image& one) { return one.rank == me_.rank; });
    if (image == control.images.end()) return {};
    // (Where the fast place had no room it is there already.)
    const auto there = checkpoint::PackReader::open(*series_.files, series_.store.folder(), image->pack);
    const bool same = there && there->digest() == image->digest;
    if (!series_.fast && !same)
      return fail(ErrorCode::not_found, fmt::format("{} of {} is in no fast place", image->pack, me_.node));
    if (!series_.fast) return {};
    const std::int64_t own[] = {me_.rank};
    const auto bytes =
        checkpoint::copy_packs(*series_.files, series_.fast->store, series_.store, control, own);
    if (bytes) flushed_.bytes += *bytes;
    // The fast place is lost or damaged, but an earlier flush had copied all: then shared storage is read to
    // see that it is whole.
    if (!bytes && same) {
      std::map<std::string, checkpoint::Digest> sure;
      return series_.store.verify_pack(*image, sure);
    }
    return bytes ? Status() : tl::unexpected<Error>(bytes.error());
  }

  void answer(const Status& copied) {
    const auto failed = copied ? std::optional<Error>() : copied.error();
    if (auto told = answer_json("copied", failed); !told) flushed_.notes.push_back(told.error().line());
  }
  Status answer_json(std::string_view phase, const std::optional<Error>& failed) {
    Json json = Json::object({{"turn", turn_}, {"phase", phase}});
    if (failed) json.set("failed", error_to_json(*failed));
    return board_.answer(std::move(json));
  }

  Series& series_;
  const Participant& me_;
  const FlushWish& wish_;
  const Waiting& waiting_;
  Board board_;
  std::int64_t turn_ = 0;
  Flushed flushed_;
};

}  // namespace

Result<Flushed> flush(Series& series, const Participant& me, const FlushWish& wish, const Waiting& waiting) {
  Turn turn;
  const auto own = Turn::take(turn, series, me, wish, waiting);
  if (!own) return tl::unexpected<Error>(own.error());
  if (!*own) return Flushed{};
  auto board = Board::open(*series.files, series.board, me, "flush");
  if (!board) return tl::unexpected<Error>(std::move(board.error()));
  return Flushing(series, me, wish, waiting, std::move(*board)).run();
}

}  // namespace sickbay::ckpt
