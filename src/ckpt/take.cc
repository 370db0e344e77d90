// SPDX-License-Identifier: Apache-2.0
#include "ckpt/take.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error_json.h"
#include "checkpoint/tiers.h"
#include "ckpt/agree.h"
#include "ckpt/told.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::Control;
using checkpoint::Image;

// What rank 0 has decided before anything is written.
struct Begun {
  Control control;                     ///< without images; of the others: its number
  std::optional<std::int64_t> before;  ///< whose packs may be used
};

Json failed_json(std::int64_t turn, const Error& error) {
  return Json::object(
      {{"turn", turn}, {"state", "failed"}, {"error", error_to_json(error)}, {"what", error.line()}});
}

class Taking {
 public:
  Taking(Series& series, const Participant& me, const TakeWish& wish, const Waiting& waiting, Board board)
      : series_(series), me_(me), wish_(wish), waiting_(waiting), board_(std::move(board)) {}

  Result<Taken> run(std::span<const checkpoint::Source> sources) {
    const TimePoint start = waiting_.now();
    auto turn = wish_.turn > 0 ? Result<std::int64_t>(wish_.turn) : next_turn(board_, me_);
    if (!turn) return tl::unexpected<Error>(std::move(turn.error()));
    turn_ = *turn;
    auto begun = me_.rank == 0 ? begin() : follow();
    if (!begun) {
      if (me_.rank == 0) refuse(begun.error());
      return tl::unexpected<Error>(std::move(begun.error()));
    }
    begun_ = std::move(*begun);

    // Also after an error all is told and the end is heard: else this process would be one turn ahead of the
    // others.
    auto saved = save(sources);
    Status done = tell(saved);
    if (done) done = me_.rank == 0 ? finish() : hear_end();
    if (!saved) return tl::unexpected<Error>(std::move(saved.error()));
    if (!done) {
      // (A timeout may be of one whose word comes late: the pack stays then, and goes with older ones.)
      if (done.error().code != ErrorCode::timed_out) remove_own();
      return tl::unexpected<Error>(std::move(done.error()));
    }
    taken_.number = begun_.control.number;
    if (me_.rank != 0) {
      taken_.raw = saved->raw;
      taken_.written = saved->written;
    }
    taken_.notes.insert(taken_.notes.begin(), saved->notes.begin(), saved->notes.end());
    taken_.took = waiting_.now() - start;
    // Without this the next one in the fast place would be full; the checkpoint itself needs it not.
    if (series_.fast)
      if (auto told = note_in_fast(series_.fast->store, me_, begun_.control.number, waiting_.now(),
                                   saved->images.front());
          !told)
        note(told.error().line());
    if (me_.rank == 0) remember();
    return std::move(taken_);
  }

  // There is no such checkpoint, and nobody has to wait for this process.
  void refuse(const Error& error) {
    if (me_.rank == 0)
      (void)say_in_turn(board_, failed_json(turn_, error));
    else
      (void)board_.answer(Json::object({{"turn", turn_}, {"failed", error_to_json(error)}}));
  }
  void at_turn(std::int64_t turn) { turn_ = turn; }
  void note(std::string text) { taken_.notes.push_back(std::move(text)); }

 private:
  // Rank 0: number and parent.
  Result<Begun> begin() {
    // Above every number that anybody has used: of the store, of board/fast, and of tries that left nothing.
    const auto number = series_.store.next_number(), noted = series_.noted.next_number();
    if (!number) return tl::unexpected<Error>(number.error());
    if (!noted) return tl::unexpected<Error>(noted.error());
    state_ = read_state(series_);
    Begun begun;
    Control& control = begun.control;
    control.number = std::max({*number, *noted, state_.last + 1});
    control.job = me_.job;
    control.restart_count = me_.restart;
    control.uid = me_.uid;
    control.at = waiting_.now();
    control.binary = wish_.binary;
    control.binary_digest = wish_.binary_digest;
    control.most_nodes = kAnyNodes;
    control.fewest_processes = wish_.fewest > 0 ? wish_.fewest : me_.ranks;
    control.most_processes = wish_.most > 0 ? wish_.most : me_.ranks;
    control.label = wish_.label;
    std::vector<std::int64_t>& ancestors = control.ancestors;
    const auto listed = list_all(series_);
    if (!listed) return tl::unexpected<Error>(listed.error());
    // Ancestors and what to stand on are two questions. Ancestors are of the line that the program is on;
    // packs of any line have the same chunks.
    for (const checkpoint::Listed& one : *listed) {
      if (!one.control) continue;
      // (Of another line it is as good to stand on.)
      begun.before = one.number;
      // A tip of an earlier start counts only when the program has gone back to it, which makes it this
      // start's: else the program has begun anew, and its state comes from nowhere.
      const bool this_start = state_.tip_restart == me_.restart && state_.tip_job == me_.in_job;
      if (one.number != state_.tip || !this_start) continue;
      ancestors = one.control->ancestors;
      ancestors.insert(ancestors.begin(), one.number);
      if (ancestors.size() > checkpoint::kMostAncestors) ancestors.resize(checkpoint::kMostAncestors);
    }
    if (!ancestors.empty()) {
      begun.before = ancestors.front();
      taken_.parent = begun.before;
    }
    // Written before the others hear the number: a rank 0 that dies now must not give it again.
    state_.last = control.number;
    if (auto kept = write_state(series_, state_); !kept)
      return tl::unexpected<Error>(std::move(kept.error()));
    if (auto said = say_in_turn(board_, begun_json(turn_, control, begun.before, me_.ranks, me_.in_job));
        !said)
      return tl::unexpected<Error>(std::move(said.error()));
    return begun;
  }

  Result<Begun> follow() {
    const auto lead = board_.hear(waiting_, [&](const Json& said) { return said["turn"].as_int() >= turn_; });
    if (!lead) return tl::unexpected<Error>(lead.error());
    if ((*lead)["turn"].as_int() > turn_ || (*lead)["state"].as_string() != "begun") {
      // Its count moves on all the same: its next one is the others' next one.
      (void)board_.answer(Json::object({{"turn", turn_}}));
      const auto own = said_in_turn(*lead, turn_);
      return fail(
          Error(ErrorCode::conflict, "the other processes have ended this checkpoint without this one")
              .because(own ? (*own)["what"].as_string() : "")
              .remedied_by("let all processes come to it within --timeout of each other"));
    }
    Begun begun;
    begun.control.number = (*lead)["number"].as_int();
    if ((*lead).has("before")) begun.before = (*lead)["before"].as_int();
    return begun;
  }

  Result<checkpoint::Saved> save(std::span<const checkpoint::Source> sources) {
    if (wish_.unable) return fail(*wish_.unable);
    const checkpoint::ImageSource image{me_.rank, {sources.begin(), sources.end()}};
    auto saved = save_somewhere(image);
    if (!saved || !wish_.still_so) return saved;
    if (auto so = wish_.still_so(); !so) {
      remove_own();
      return tl::unexpected<Error>(std::move(so.error()));
    }
    return saved;
  }

  // In the fast place, or where it has no room on shared storage.
  Result<checkpoint::Saved> save_somewhere(const checkpoint::ImageSource& image) {
    const checkpoint::SaveOptions options{
        .full = wish_.full, .before = begun_.before, .threads = wish_.threads};
    const std::int64_t number = begun_.control.number;
    if (!series_.fast) return series_.store.save(number, {&image, 1}, options);
    if (auto cleared = drop_from(*series_.files, series_.fast->store, number); !cleared) {
      taken_.notes.push_back(cleared.error().line());
      return series_.store.save(number, {&image, 1}, options);
    }
    checkpoint::Tiers tiers{*series_.files, series_.fast->store, series_.fast->most, series_.store,
                            "shared storage"};
    auto where = tiers.save(number, {&image, 1}, options);
    if (!where) return tl::unexpected<Error>(std::move(where.error()));
    taken_.fast = in_fast_ = where->in_memory;
    return std::move(where->saved);
  }

  void remove_own() {
    const checkpoint::Store& store = in_fast_ ? series_.fast->store : series_.store;
    // (Of a checkpoint that is none: nothing stands on it.)
    (void)series_.files->remove(store.folder() + "/" +
                                checkpoint::pack_name(begun_.control.number, me_.rank));
  }

  Status tell(const Result<checkpoint::Saved>& saved) {
    if (!saved)
      return board_.answer(Json::object(
          {{"turn", turn_}, {"number", begun_.control.number}, {"failed", error_to_json(saved.error())}}));
    Image image = saved->images.front();
    image.node = me_.node;
    return board_.answer(saved_json(turn_, begun_.control.number, wish_.label, image, in_fast_));
  }

  // Rank 0: when all have said what they have, it exists.
  Status finish() {
    Status done = publish();
    Json lead =
        done ? Json::object({{"turn", turn_}, {"state", "published"}}) : failed_json(turn_, done.error());
    lead.set("number", begun_.control.number);
    if (auto said = say_in_turn(board_, std::move(lead)); !said && done) return said;
    return done;
  }

  Status publish() {
    // ">=": one that has given up this turn and is in the next one must not be waited for; add_images()
    // refuses what it says.
    const auto all =
        board_.gather(waiting_, [&](const Json& answer) { return answer["turn"].as_int() >= turn_; });
    if (!all) return tl::unexpected<Error>(all.error());
    Control control = begun_.control;
    if (auto added = add_images(control, turn_, *all); !added) return added;
    for (const Image& image : control.images) {
      taken_.raw += static_cast<std::uint64_t>(image.raw);
      taken_.written += static_cast<std::uint64_t>(image.written);
    }
    taken_.fast = any_fast(*all);
    // (The others have each said that theirs is whole: only rank 0's own pack is looked at again.)
    const std::int64_t own[] = {0};
    return taken_.fast ? series_.noted.publish(control, {}) : series_.store.publish(control, own);
  }

  Status hear_end() {
    const auto lead = board_.hear(waiting_, [&](const Json& said) {
      return said["turn"].as_int() > turn_ ||
             (said["turn"].as_int() == turn_ && said["state"].as_string() != "begun");
    });
    if (!lead) return tl::unexpected<Error>(lead.error());
    const auto own = said_in_turn(*lead, turn_);
    if (!own || (*own)["state"].as_string() == "begun") {
      // Rank 0 is far ahead, or could not say the end; the control file tells it.
      if (const auto control = find_control(series_, begun_.control.number); control) return {};
      return fail(ErrorCode::conflict, fmt::format("checkpoint {} was not finished", begun_.control.number));
    }
    if ((*own)["state"].as_string() == "published") return {};
    return fail(error_from_json((*own)["error"]));
  }

  // Rank 0, when it exists: what fails now is a note, for the checkpoint is there.
  void remember() {
    state_.tip = begun_.control.number;
    state_.tip_job = me_.in_job;
    state_.tip_restart = me_.restart;
    state_.begun_us = to_micros(begun_.control.at - wish_.asked);
    add_cost(state_, taken_.took + wish_.asked);
    if (auto kept = write_state(series_, state_); !kept) taken_.notes.push_back(kept.error().line());
    // (Beside a flush, what it copies and does not name yet would be taken for old.)
    if (!series_.flushes) end_old(*series_.files, series_.store, wish_.keep, waiting_.now(), taken_.notes);
  }

  Series& series_;
  const Participant& me_;
  const TakeWish& wish_;
  const Waiting& waiting_;
  Board board_;
  std::int64_t turn_ = 0;
  bool in_fast_ = false;  ///< the own pack
  Begun begun_;
  SeriesState state_;
  Taken taken_;
};

}  // namespace

Result<Taken> take_checkpoint(Series& series, const Participant& me,
                              std::span<const checkpoint::Source> sources, const TakeWish& wish,
                              const Waiting& waiting) {
  auto board = Board::open(*series.files, series.board, me, "take");
  if (!board) return tl::unexpected<Error>(std::move(board.error()));
  Taking taking(series, me, wish, waiting, std::move(*board));
  auto lock = lock_for(series, me);
  if (!lock) {
    // Where the caller counts turns, the others are in this one already and wait for a word.
    if (wish.turn > 0) {
      taking.at_turn(wish.turn);
      taking.refuse(lock.error());
    }
    return tl::unexpected<Error>(std::move(lock.error()));
  }
  if (me.rank == 0 && *lock)
    if (const auto left = publish_left(series)) taking.note(note_of_left(*left));
  if (me.rank == 0 && me.ranks > 1) tidy_board(*series.files, series.board, me);
  return taking.run(sources);
}

}  // namespace sickbay::ckpt
