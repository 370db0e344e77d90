// SPDX-License-Identifier: Apache-2.0
#include "ckpt/run/rounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/error_json.h"
#include "base/text.h"
#include "ckpt/agree.h"
#include "ckpt/ask.h"
#include "ckpt/leaving.h"

namespace sickbay::ckpt {
namespace {

// How often the board and the own program are looked at: 4 times a second; the done file from every 20 ms on.
constexpr Micros kRoundLook = std::chrono::milliseconds(250), kOwnLook = std::chrono::milliseconds(20);
// Rank 0 sees a wish within a second. The others look once a millisecond of their number: 1000 looks a second
// altogether, each at least every 5 s.
constexpr Micros kLeadLook = std::chrono::seconds(1), kLongestLook = std::chrono::seconds(5);
constexpr Micros kForever = std::chrono::hours(24 * 365 * 10);
// What agree() adds to the time that the first writing took.
constexpr Micros kToAgree = std::chrono::seconds(10);
// Who waits for what another waits for waits longer: it hears why that was in vain.
constexpr Micros kMore = std::chrono::seconds(2);
constexpr const char* kEndLabel = "end";

tl::unexpected<Error> program_ended(std::int64_t rank) {
  return fail(ErrorCode::conflict, fmt::format("the program of rank {} has ended", rank));
}

// What both sides have: the own program, its answers, and how long others are waited for.
class Side {
 protected:
  Side(Series& series, const Participant& me, Watched& program, const RoundsWish& wish,
       const TakeTogether& take, Board board)
      : series_(series), me_(me), program_(program), wish_(wish), take_(take), board_(std::move(board)) {}

  TimePoint now() const { return wish_.waiting.now(); }

  // Waits as the program's pauses are; ended by its end at once, or a while after it.
  Waiting until_ended(Micros patience, Micros at_least = Micros(0)) {
    return {wish_.waiting.now,
            [this, at_least](Micros length) { program_.pause(std::max(length, at_least)); }, patience,
            [this]() -> Status {
              if (program_.ended()) return program_ended(me_.rank);
              return {};
            }};
  }
  Waiting a_while_after(Micros patience) {
    return {wish_.waiting.now, [this](Micros length) { program_.pause(length); }, patience,
            [this, ended = kNever]() mutable -> Status {
              if (!program_.ended()) return {};
              // (Others may still save what was written before the end; but they may be gone, too.)
              if (ended == kNever) ended = now();
              if (now() - ended > wish_.after_end) return program_ended(me_.rank);
              return {};
            }};
  }
  Micros patience() const { return wish_.waiting.patience; }

  Status answer(std::string_view phase, Json more = Json::object()) {
    more.set("run", wish_.run);
    more.set("turn", turn_);
    more.set("phase", phase);
    return board_.answer(std::move(more));
  }
  Status answer_failed(const Error& error) {
    return answer("failed", Json::object({{"error", error_to_json(error)}}));
  }
  Status answer_ended() { return answer("ended", Json::object({{"well", program_.ended_well()}})); }

  // The own program can be asked.
  Status own_ready() {
    const TimePoint until = now() + patience();
    // A signal whose handler is not set yet ends a program. So it is waited for, not just asked.
    for (;;) {
      if (program_.ended()) return program_ended(me_.rank);
      const auto ready = program_.make_ready();
      if (!ready) return tl::unexpected<Error>(ready.error());
      if (*ready) return {};
      if (now() >= until)
        return fail(Error(ErrorCode::timed_out,
                          fmt::format("the program of rank {} catches no signal that asks it (for {})",
                                      me_.rank, describe_duration(patience())))
                        .remedied_by("let it set a handler before it computes; a script before it ends with "
                                     "'exec program'; or ask it by --ask-file"));
      program_.pause(kRoundLook);
    }
  }
  // The own program has written; what.  `over`: nobody waits for it any more.
  Result<std::string> own_written(const std::function<bool()>& over) {
    const TimePoint until = now() + patience();
    TimePoint look = now() + kRoundLook;
    for (Micros length = kOwnLook;; length = std::min(length * 3 / 2, kRoundLook)) {
      const bool ended = program_.ended();  // (before the look: it may write and end)
      auto label = program_.written();
      if (!label) return tl::unexpected<Error>(std::move(label.error()));
      if (*label) return std::move(**label);
      if (ended) return tl::unexpected<Error>(program_ended(me_.rank).value());
      if (now() >= until)
        return fail(
            Error(ErrorCode::timed_out, fmt::format("the program of rank {} was asked and has not "
                                                    "written its done file for {}",
                                                    me_.rank, describe_duration(patience())))
                .remedied_by("see whether it does what it is asked, and whether it writes the file of "
                             "--done; give it longer: --timeout"));
      // The board is looked at less often than the program: the one is on shared storage.
      if (now() >= look) {
        if (over()) return fail(ErrorCode::conflict, "the other processes have given it up");
        look = now() + 2 * kRoundLook;
      }
      program_.pause(length);
    }
  }
  Status answer_label(const std::string& label) {
    told_ = label;
    return answer("written", Json::object({{"label", label}}));
  }
  // A label that has changed since it was told.
  void tell_again() {
    const auto label = program_.written();
    if (label && *label && **label != told_) (void)answer_label(**label);
  }

  // What all are to save now.  (Between its word and theirs this program may have written once more.)
  RoundsTake round_of(const std::string& label, Micros asked) {
    return {turn_, label, asked, [this, label]() -> Status {
              if (told_ == label) return program_.still_so();
              return fail(ErrorCode::conflict, fmt::format("the program of rank {} has written {} meanwhile",
                                                           me_.rank, quote_for_message(told_)));
            }};
  }

  Series& series_;
  const Participant& me_;
  Watched& program_;
  const RoundsWish& wish_;
  const TakeTogether& take_;
  Board board_;
  std::int64_t turn_ = 0;
  std::string told_;
};

class Lead : Side {
 public:
  Lead(Series& series, const Participant& me, Watched& program, const RoundsWish& wish,
       const TakeTogether& take, const RoundsNews& news, Board board)
      : Side(series, me, program, wish, take, std::move(board)), news_(news) {}

  Status run() {
    const auto takes = Board::open(*series_.files, series_.board, me_, "take");
    if (!takes) return tl::unexpected<Error>(takes.error());
    // The turn of a round is that of its checkpoint on the board "take", where it must rise: so it begins
    // with what an earlier run in this session has reached there.
    const auto turn = next_turn(*takes, me_);
    turn_ = turn ? *turn - 1 : 0;
    facts_.started = facts_.last = now();
    facts_.job_end = me_.job_end;
    while (!program_.ended()) {
      look();
      const DueWhy why = due(wish_.rhythm, facts_);
      if (why == DueWhy::no)
        program_.pause(std::clamp<Micros>(next_due(wish_.rhythm, facts_) - now(), kOwnLook, kLeadLook));
      else
        round(why);
    }
    if (wish_.at_end) last_one();
    (void)say("end");
    return {};
  }

 private:
  void look() {
    if (wish_.look_around) wish_.look_around();
    const SeriesState state = read_state(series_);
    facts_.now = now();
    facts_.cost = usual_cost(state);
    // Wishes from three sides are made one token: a signal first, then a word on the board, then a node that
    // leaves. One checkpoint answers all that were there when it began.
    wishes_ = program_.wishes();
    token_ = asked_token(series_);
    if (token_ == state.asked_done) token_.clear();
    leaving_ = read_leaving_wish(series_);
    if (leaving_ && !is_open(*leaving_, leaving_answered(state), facts_.started)) leaving_.reset();
    facts_.asked = wishes_ > wishes_done_         ? fmt::format("signal {}", wishes_)
                   : !token_.empty() || !leaving_ ? token_
                                                  : leaving_->token();
    if (!over_) return;
    // One of the others is gone: there is no whole state of the job any more.
    if (!facts_.asked.empty()) answered(Result<Taken>(tl::unexpected<Error>(*over_)));
    facts_.asked.clear();
    // All as if a checkpoint had been taken just now, so that due() says no more; a timer may come again and
    // fails in the first step.
    facts_.ended_taken = true;
    facts_.last = facts_.now;
  }

  void round(DueWhy why) {
    std::string label;
    auto taken = try_round(label);
    // Slurm may signal the program itself, too, which then writes twice: the second state is as good.
    if (!taken && taken.error().code == ErrorCode::conflict && !over_ && !program_.ended())
      taken = try_round(label);
    // (Whatever came of it: the next one is after the next interval.)
    facts_.last = now();
    if (why == DueWhy::before_end) facts_.ended_taken = true;
    answered(taken);
    if (taken)
      news_.taken(*taken, label, why);
    else if (!program_.ended())
      news_.failed(taken.error());
  }

  // By what was seen in look(): a wish that comes while a round is under way is not answered by it.
  void answered(const Result<Taken>& taken) {
    wishes_done_ = wishes_;
    if (leaving_)
      if (auto noted = note_leaving_answer(series_, *leaving_); !noted) news_.failed(noted.error());
    leaving_.reset();
    if (token_.empty()) return;
    if (auto noted = note_answer(series_, token_, taken ? "" : taken.error().line()); !noted)
      news_.failed(noted.error());
    token_.clear();
  }

  Result<Taken> try_round(std::string& label) {
    ++turn_;
    auto taken = agree_and_take(label);
    // The others wait for the next word of this turn: without one they would wait for their timeout.
    if (!taken) (void)say("drop", Json::object({{"error", error_to_json(taken.error())}}));
    return taken;
  }

  Result<Taken> agree_and_take(std::string& label) {
    const auto wrong = [](Status& status) { return tl::unexpected<Error>(std::move(status.error())); };
    if (auto said = say("ready"); !said) return wrong(said);
    if (auto ready = own_ready(); !ready) return wrong(ready);
    if (auto told = answer("ready"); !told) return wrong(told);
    // Nobody is asked before all can be: a program that is asked alone writes a state that no other has.
    if (auto all = gather("ready", until_ended(patience() + kMore)); !all)
      return tl::unexpected<Error>(all.error());
    const TimePoint asked = now();
    // Said before rank 0's own program is asked, so that all write at the same time.
    if (auto said = say("ask"); !said) return wrong(said);
    if (auto done = program_.ask(); !done) return wrong(done);
    const auto own = own_written([] { return false; });
    if (!own) return tl::unexpected<Error>(own.error());
    const Micros took = now() - asked;
    if (auto told = answer_label(*own); !told) return wrong(told);
    const auto agreed = agree(asked);
    if (!agreed) return tl::unexpected<Error>(agreed.error());
    label = *agreed;
    if (auto said = say("save", Json::object({{"label", label}})); !said) return wrong(said);
    return take_(round_of(label, took), a_while_after(patience()));
  }

  // All have written, and the same.
  Result<std::string> agree(TimePoint asked) {
    const Waiting waiting = a_while_after(patience() + kMore);
    std::optional<TimePoint> until;
    for (;;) {
      const auto all = gather("written", waiting);
      if (!all) return tl::unexpected<Error>(all.error());
      const std::string& label = all->front()["label"].as_string();
      const auto other =
          std::ranges::find_if(*all, [&](const Json& one) { return one["label"].as_string() != label; });
      if (other == all->end()) return label;
      // As long again as all of them took: who was asked last may make all write once more.
      if (!until) until = now() + std::min(2 * (now() - asked) + kToAgree, patience());
      if (now() >= *until)
        return fail(
            Error(ErrorCode::conflict,
                  fmt::format("rank {} has written {} and rank 0 {}", other - all->begin(),
                              quote_for_message((*other)["label"].as_string()), quote_for_message(label)))
                .remedied_by("let the processes agree on what they write when one of them is asked, "
                             "or --ask-one"));
      program_.pause(kRoundLook);
      tell_again();
    }
  }

  // Answers of all in this turn.  Errors: what one has failed with, or it has ended.
  Result<std::vector<Json>> gather(std::string_view phase, const Waiting& waiting) {
    // Whoever has ended says so for good ("ended" of any turn): nobody waits for an answer that cannot come.
    auto all = board_.gather(waiting, [&](const Json& a) {
      if (a["run"].as_int() != wish_.run) return false;
      const std::string& at = a["phase"].as_string();
      return at == "ended" || (a["turn"].as_int() == turn_ && (at == phase || at == "failed"));
    });
    if (!all) return all;
    for (std::size_t rank = 0; rank < all->size(); ++rank) {
      const std::string& at = (*all)[rank]["phase"].as_string();
      if (at == phase) continue;
      Error error = at == "failed" ? error_from_json((*all)[rank]["error"])
                                   : program_ended(static_cast<std::int64_t>(rank)).value();
      if (at == "ended") over_ = error;
      return fail(std::move(error));
    }
    return all;
  }

  // All have ended well: what they left.
  void last_one() {
    ++turn_;
    look();
    const auto taken = [&]() -> Result<Taken> {
      if (auto told = answer_ended(); !told) return tl::unexpected<Error>(std::move(told.error()));
      // (Not one of those above: they end with the own program, which has ended already.)
      Waiting waiting = wish_.waiting;
      const auto all = gather("ended", waiting);
      if (!all) return tl::unexpected<Error>(all.error());
      for (std::size_t rank = 0; rank < all->size(); ++rank)
        if (!(*all)[rank]["well"].as_bool())
          return fail(ErrorCode::conflict, fmt::format("the program of rank {} has failed", rank));
      if (auto said = say("save", Json::object({{"label", kEndLabel}, {"last", true}})); !said)
        return tl::unexpected<Error>(std::move(said.error()));
      return take_({turn_, kEndLabel}, waiting);
    }();
    // gather() has taken "ended" of the others for the end of all rounds; here it is what was waited for.
    over_.reset();
    answered(taken);
    if (taken)
      news_.taken(*taken, kEndLabel, DueWhy::before_end);
    else
      news_.failed(taken.error());
  }

  Status say(std::string_view state, Json more = Json::object()) {
    more.set("run", wish_.run);
    more.set("turn", turn_);
    more.set("state", state);
    return board_.say(std::move(more));
  }

  const RoundsNews& news_;
  DueFacts facts_;
  std::int64_t wishes_ = 0, wishes_done_ = 0;
  std::string token_;                   ///< of a wish from outside that has no answer yet
  std::optional<LeavingWish> leaving_;  ///< likewise, of a node that is leaving
  std::optional<Error> over_;           ///< why there can be no more
};

class Follow : Side {
 public:
  Follow(Series& series, const Participant& me, Watched& program, const RoundsWish& wish,
         const TakeTogether& take, Board board)
      : Side(series, me, program, wish, take, std::move(board)),
        look_(std::clamp<Micros>(std::chrono::milliseconds(me.ranks), kRoundLook, kLongestLook)) {}

  Status run() {
    while (!program_.ended()) {
      // Between two rounds this process waits for as long as its program runs.
      Waiting waiting = until_ended(kForever, look_);
      waiting.still = [this, still = waiting.still]() -> Status {
        if (wish_.look_around) wish_.look_around();
        return still();
      };
      const auto said =
          hear(waiting, [&](const Json& lead) { return lead["turn"].as_int() > turn_ || is(lead, "end"); });
      if (!said) break;  // (it has ended; or the board is no more)
      if (is(*said, "end")) break;
      turn_ = (*said)["turn"].as_int();
      round();
    }
    program_.wait_for_end();
    (void)answer_ended();
    if (wish_.at_end) last_one();
    return {};
  }

 private:
  static bool is(const Json& lead, std::string_view state) { return lead["state"].as_string() == state; }

  Result<Json> hear(const Waiting& waiting, const std::function<bool(const Json&)>& fits) {
    return board_.hear(waiting,
                       [&](const Json& lead) { return lead["run"].as_int() == wish_.run && fits(lead); });
  }
  // Rank 0 says that; anything else of a later moment is an end of the round.
  bool hear_that(std::string_view before, std::string_view state, const Waiting& waiting,
                 Json* said = nullptr) {
    const auto lead =
        hear(waiting, [&](const Json& one) { return one["turn"].as_int() != turn_ || !is(one, before); });
    if (!lead || (*lead)["turn"].as_int() != turn_ || !is(*lead, state)) return false;
    if (said != nullptr) *said = *lead;
    return true;
  }

  void round() {
    if (auto ready = own_ready(); !ready) {
      (void)answer_failed(ready.error());
      return;
    }
    // Patience grows from the program (patience) over rank 0 (and 2 s) to the others (and 4 s): who is
    // nearest to the cause tells it first.
    if (!answer("ready") || !hear_that("ready", "ask", until_ended(patience() + 2 * kMore))) return;
    const TimePoint asked = now();
    Status done = program_.ask();
    const auto label = done ? own_written([&] { return !hear_that_it_is("ask"); })
                            : Result<std::string>(tl::unexpected<Error>(done.error()));
    if (!label) {
      (void)answer_failed(label.error());
      return;
    }
    const Micros took = now() - asked;
    if (!answer_label(*label)) return;
    Waiting waiting = a_while_after(patience() + 2 * kMore);
    waiting.still = [this, still = waiting.still]() -> Status {
      tell_again();
      return still();
    };
    Json said;
    if (!hear_that("ask", "save", waiting, &said)) return;
    // (How it ends is rank 0's to tell.)
    (void)take_(round_of(said["label"].as_string(), took), a_while_after(patience()));
  }

  // (An unreadable board says nothing: true.)
  bool hear_that_it_is(std::string_view state) {
    const auto lead = board_.said();
    return !lead || !*lead || ((**lead)["turn"].as_int() == turn_ && is(**lead, state));
  }

  void last_one() {
    const auto said = hear(wish_.waiting, [&](const Json& lead) {
      return is(lead, "end") || (lead.has("last") && is(lead, "save"));
    });
    if (!said || !is(*said, "save")) return;
    turn_ = (*said)["turn"].as_int();
    (void)take_({turn_, (*said)["label"].as_string()}, wish_.waiting);
  }

  Micros look_;
};

}  // namespace

Status keep_rounds(Series& series, const Participant& me, Watched& program, const RoundsWish& wish,
                   const TakeTogether& take, const RoundsNews& news) {
  auto board = Board::open(*series.files, series.board, me, "ask");
  if (!board) return tl::unexpected<Error>(std::move(board.error()));
  if (me.rank == 0) return Lead(series, me, program, wish, take, news, std::move(*board)).run();
  return Follow(series, me, program, wish, take, std::move(*board)).run();
}

}  // namespace sickbay::ckpt
