// SPDX-License-Identifier: Apache-2.0
#include "ckpt/take.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error_json.h"
#include "base/text.h"
#include "ckpt/agree.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::Control;
using checkpoint::Image;

// What rank 0 has decided before anything is written.
struct Begun {
  std::int64_t number = 0;
  std::optional<std::int64_t> before;     ///< whose packs may be used
  std::vector<std::int64_t> ancestors{};  ///< known to rank 0 alone
};

Json image_json(const Image& image) {
  return Json::object({{"rank", image.rank},
                       {"node", image.node},
                       {"sha256", checkpoint::hex(image.digest)},
                       {"raw", image.raw},
                       {"written", image.written}});
}

class Taking {
 public:
  Taking(Series& series, const Participant& me, const TakeWish& wish, const Waiting& waiting, Board board)
      : series_(series), me_(me), wish_(wish), waiting_(waiting), board_(std::move(board)) {}

  Result<Taken> run(std::span<const checkpoint::Source> sources) {
    const TimePoint start = waiting_.now();
    const auto turn = next_turn(board_, me_);
    if (!turn) return tl::unexpected<Error>(turn.error());
    turn_ = *turn;
    auto begun = me_.rank == 0 ? begin() : follow();
    if (!begun) return tl::unexpected<Error>(std::move(begun.error()));
    begun_ = std::move(*begun);

    const checkpoint::ImageSource image{me_.rank, {sources.begin(), sources.end()}};
    auto saved = series_.store.save(begun_.number, {&image, 1},
                                    {.full = wish_.full, .before = begun_.before, .threads = wish_.threads});
    Status done = tell(saved);
    if (done) done = me_.rank == 0 ? finish() : hear_end();
    if (!saved) return tl::unexpected<Error>(std::move(saved.error()));
    if (!done) {
      // (A timeout may be of one whose word comes late: the pack stays then, and goes with older ones.)
      if (done.error().code != ErrorCode::timed_out)
        (void)series_.files->remove(series_.store.folder() + "/" +
                                    checkpoint::pack_name(begun_.number, me_.rank));
      return tl::unexpected<Error>(std::move(done.error()));
    }
    taken_.number = begun_.number;
    if (me_.rank != 0) {
      taken_.raw = saved->raw;
      taken_.written = saved->written;
    }
    taken_.notes.insert(taken_.notes.begin(), saved->notes.begin(), saved->notes.end());
    taken_.took = waiting_.now() - start;
    if (me_.rank == 0) remember();
    return std::move(taken_);
  }

 private:
  // Rank 0: number and parent.
  Result<Begun> begin() {
    const auto number = series_.store.next_number();
    if (!number) return tl::unexpected<Error>(number.error());
    state_ = read_state(series_);
    Begun begun;
    begun.number = std::max(*number, state_.last + 1);
    const auto listed = series_.store.list();
    if (!listed) return tl::unexpected<Error>(listed.error());
    for (const checkpoint::Listed& one : *listed) {
      if (!one.control) continue;
      // (Of another line it is as good to stand on.)
      begun.before = one.number;
      const bool this_start = state_.tip_restart == me_.restart && state_.tip_job == me_.in_job;
      if (one.number != state_.tip || !this_start) continue;
      begun.ancestors = one.control->ancestors;
      begun.ancestors.insert(begun.ancestors.begin(), one.number);
      if (begun.ancestors.size() > checkpoint::kMostAncestors)
        begun.ancestors.resize(checkpoint::kMostAncestors);
    }
    if (!begun.ancestors.empty()) {
      begun.before = begun.ancestors.front();
      taken_.parent = begun.before;
    }
    state_.last = begun.number;
    if (auto kept = write_state(series_, state_); !kept)
      return tl::unexpected<Error>(std::move(kept.error()));
    Json lead = Json::object({{"turn", turn_}, {"state", "begun"}, {"number", begun.number}});
    if (begun.before) lead.set("before", *begun.before);
    if (auto said = board_.say(std::move(lead)); !said) return tl::unexpected<Error>(std::move(said.error()));
    return begun;
  }

  Result<Begun> follow() {
    const auto lead = board_.hear(waiting_, [&](const Json& said) { return said["turn"].as_int() >= turn_; });
    if (!lead) return tl::unexpected<Error>(lead.error());
    if ((*lead)["turn"].as_int() > turn_ || (*lead)["state"].as_string() != "begun") {
      // Its count moves on all the same: its next one is the others' next one.
      (void)board_.answer(Json::object({{"turn", turn_}}));
      return fail(
          Error(ErrorCode::conflict, "the other processes have ended this checkpoint without this one")
              .because((*lead)["what"].as_string())
              .remedied_by("let all processes come to it within --timeout of each other"));
    }
    Begun begun;
    begun.number = (*lead)["number"].as_int();
    if ((*lead).has("before")) begun.before = (*lead)["before"].as_int();
    return begun;
  }

  Status tell(const Result<checkpoint::Saved>& saved) {
    Json mine = Json::object({{"turn", turn_}, {"number", begun_.number}, {"label", wish_.label}});
    if (saved) {
      Image image = saved->images.front();
      image.node = me_.node;
      mine.set("image", image_json(image));
    } else {
      mine.set("failed", error_to_json(saved.error()));
    }
    return board_.answer(std::move(mine));
  }

  // Rank 0: when all have said what they have, it exists.
  Status finish() {
    Status done = publish();
    Json lead = Json::object({{"turn", turn_}, {"number", begun_.number}});
    lead.set("state", done ? "published" : "failed");
    if (!done) {
      lead.set("error", error_to_json(done.error()));
      lead.set("what", done.error().line());
    }
    if (auto said = board_.say(std::move(lead)); !said && done) return said;
    return done;
  }

  Status publish() {
    const auto all =
        board_.gather(waiting_, [&](const Json& answer) { return answer["turn"].as_int() >= turn_; });
    if (!all) return tl::unexpected<Error>(all.error());
    Control control;
    control.number = begun_.number;
    control.ancestors = begun_.ancestors;
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
    for (std::size_t rank = 0; rank < all->size(); ++rank) {
      const Json& answer = (*all)[rank];
      if (answer.has("failed"))
        return fail(error_from_json(answer["failed"]).in(fmt::format("saving what rank {} has", rank)));
      if (answer["turn"].as_int() != turn_ || answer["number"].as_int() != begun_.number)
        return fail(ErrorCode::conflict, fmt::format("rank {} is at another checkpoint", rank));
      if (answer["label"].as_string() != wish_.label)
        return fail(Error(ErrorCode::conflict, fmt::format("rank {} has saved {} and rank 0 {}", rank,
                                                           quote_for_message(answer["label"].as_string()),
                                                           quote_for_message(wish_.label)))
                        .remedied_by("let all processes save the same state: bring them together before it"));
      const Json& image = answer["image"];
      const auto digest = checkpoint::parse_digest(image["sha256"].as_string());
      if (!digest) return fail(ErrorCode::bad_input, fmt::format("rank {} told no image", rank));
      control.images.push_back({static_cast<std::int64_t>(rank), image["node"].as_string(),
                                checkpoint::pack_name(begun_.number, static_cast<std::int64_t>(rank)),
                                *digest, image["raw"].as_int(), image["written"].as_int()});
      taken_.raw += static_cast<std::uint64_t>(control.images.back().raw);
      taken_.written += static_cast<std::uint64_t>(control.images.back().written);
    }
    const std::int64_t own[] = {0};
    return series_.store.publish(control, own);
  }

  Status hear_end() {
    const auto lead = board_.hear(waiting_, [&](const Json& said) {
      return said["turn"].as_int() > turn_ ||
             (said["turn"].as_int() == turn_ && said["state"].as_string() != "begun");
    });
    if (!lead) return tl::unexpected<Error>(lead.error());
    if ((*lead)["turn"].as_int() > turn_) {
      // Rank 0 is ahead; the control file tells how this one ended.
      if (const auto control = series_.store.read_control(begun_.number); control) return {};
      return fail(ErrorCode::conflict, fmt::format("checkpoint {} was not finished", begun_.number));
    }
    if ((*lead)["state"].as_string() == "published") return {};
    return fail(error_from_json((*lead)["error"]));
  }

  // Rank 0, when it exists: what fails now is a note, for the checkpoint is there.
  void remember() {
    state_.tip = begun_.number;
    state_.tip_job = me_.in_job;
    state_.tip_restart = me_.restart;
    add_cost(state_, taken_.took + wish_.asked);
    if (auto kept = write_state(series_, state_); !kept) taken_.notes.push_back(kept.error().line());
    const auto& keep = wish_.keep;
    if (!keep.count && !keep.age && !keep.bytes) return;
    auto kept = checkpoint::kept_in(*series_.files, series_.store);
    const auto ends =
        kept ? choose_ends(std::move(*kept), keep, waiting_.now()) : std::vector<std::int64_t>();
    const auto removed = !kept || ends.empty() ? Result<std::uint64_t>(0) : series_.store.remove(ends);
    if (!kept) taken_.notes.push_back("no older checkpoint was removed: " + kept.error().line());
    if (!removed) taken_.notes.push_back("an older checkpoint stays: " + removed.error().line());
  }

  Series& series_;
  const Participant& me_;
  const TakeWish& wish_;
  const Waiting& waiting_;
  Board board_;
  std::int64_t turn_ = 0;
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
  auto lock = lock_for(series, me);
  if (!lock) return tl::unexpected<Error>(std::move(lock.error()));
  if (me.rank == 0 && me.ranks > 1) tidy_board(*series.files, series.board, me);
  return Taking(series, me, wish, waiting, std::move(*board)).run(sources);
}

}  // namespace sickbay::ckpt
