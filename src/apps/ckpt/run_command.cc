// SPDX-License-Identifier: Apache-2.0
// sickbay-ckpt run: one process of a step.  It goes back to the last checkpoint, starts the program, and asks
// it for its state whenever a checkpoint is due; it ends as the program does.  Its rounds: src/ckpt/run.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "apps/ckpt/commands.h"
#include "base/duration.h"
#include "base/text_table.h"
#include "ckpt/declared.h"
#include "ckpt/engines.h"
#include "ckpt/go_back.h"
#include "ckpt/leaving.h"
#include "ckpt/run/asked_program.h"
#include "ckpt/run/rounds.h"

namespace sickbay::ckpt {
namespace {

constexpr int kNotFound = 127, kCannotRun = 126;  // as a shell has them
// The program computes on while its files are saved, on the same processors.
constexpr int kNiceness = 5;

struct RunPlan {
  std::string folder;
  HowToAsk how;
  int wish = 0;  ///< the signal that asks this process
  Rhythm rhythm;
  Waiting waiting;
};

// A time of the command line, where it is given.
Result<std::optional<Micros>> time_of(const std::string& text, bool may_be_0) {
  if (text.empty()) return std::nullopt;
  const auto given = parse_duration(text);
  if (!given) return tl::unexpected<Error>(given.error());
  if (given->count() == 0 && !may_be_0) return fail(ErrorCode::usage, fmt::format("{} is no time", text));
  return *given;
}

Result<RunPlan> plan_of(const Options& o, const Participant& me) {
  RunPlan plan;
  auto folder = folder_of_program(o);
  if (!folder) return tl::unexpected<Error>(std::move(folder.error()));
  plan.folder = std::move(*folder);
  auto waiting = waiting_of(o);
  if (!waiting) return tl::unexpected<Error>(std::move(waiting.error()));
  plan.waiting = std::move(*waiting);

  const auto path = [&](const std::string& pattern) -> Result<std::string> {
    const auto name = fill_in(pattern, me);
    if (!name) return tl::unexpected<Error>(name.error());
    return (std::filesystem::path(plan.folder) / *name).lexically_normal().string();
  };
  const auto done = path(o.done);
  if (!done) return tl::unexpected<Error>(done.error());
  plan.how.done_file = *done;
  const auto signal = parse_ask_signal(o.ask);
  if (!signal) return tl::unexpected<Error>(signal.error());
  plan.wish = *signal;
  if (o.ask_file.empty()) {
    plan.how.signal = *signal;
  } else {
    const auto file = path(o.ask_file);
    if (!file) return tl::unexpected<Error>(file.error());
    plan.how.ask_file = *file;
  }
  // (A file that all see is made once.)
  plan.how.by_others =
      me.rank != 0 && (o.ask_one || (!o.ask_file.empty() && !differs_by_process(o.ask_file)));

  const auto every = time_of(o.every, false), before_end = time_of(o.before_end, true);
  if (!every) return tl::unexpected<Error>(every.error());
  if (!before_end) return tl::unexpected<Error>(before_end.error());
  const auto mttf = mttf_of(o, me);
  if (!mttf) return tl::unexpected<Error>(mttf.error());
  plan.rhythm.every = *every;
  plan.rhythm.before_end = *before_end;
  plan.rhythm.mttf = *mttf;
  return plan;
}

// What is the program's own: written by it before its done file.
std::vector<checkpoint::Source> own_files(const Options& o, const RunPlan& plan, const Place& place) {
  std::vector<std::string> own;
  for (const std::string& pattern : o.patterns)
    if (o.own || place.me.ranks == 1 || differs_by_process(pattern)) own.push_back(pattern);
  auto files = own.empty() ? Result<std::vector<checkpoint::Source>>()
                           : declared_files(plan.folder, own, place.me, o.own, place.root);
  return files ? std::move(*files) : std::vector<checkpoint::Source>();
}

TakeTogether taking(const Options& o, const RunPlan& plan, const Place& place, Series& series,
                    AskedProgram& program) {
  return [&](const RoundsTake& round, const Waiting& waiting) -> Result<Taken> {
    const auto sources = declared_files(plan.folder, o.patterns, place.me, o.own, place.root);
    TakeWish wish;
    wish.label = round.label;
    wish.turn = round.turn;
    wish.asked = round.asked;
    wish.threads = threads_here();
    wish.fewest = o.fewest;
    wish.most = o.most;
    wish.binary = o.program.front();
    if (o.keep > 0) wish.keep.count = static_cast<std::size_t>(o.keep);
    program.holds(own_files(o, plan, place));
    // (What this process lacks is told to all of them, in the place of its image.)
    wish.still_so = [&]() -> Status {
      if (!sources) return tl::unexpected<Error>(sources.error());
      return round.still_so ? round.still_so() : Status();
    };
    static const std::vector<checkpoint::Source> kNone;
    auto taken = take_checkpoint(series, place.me, sources ? *sources : kNone, wish, waiting);
    if (taken) flush_behind(o, place, taken->number, false, Telling::in_background);
    return taken;
  };
}

RoundsNews news_here(const Options& o, const Series& series, const Participant& me) {
  RoundsNews news;
  news.taken = [&series, &me, quiet = o.quiet](const Taken& taken, const std::string& label, DueWhy) {
    tell_notes(taken.notes);
    tell_sickbayd(news_of(taken, series, me), me, Telling::in_background);
    if (quiet) return;
    fmt::print(stderr, "sickbay-ckpt: checkpoint {}{} in {}\n", taken.number,
               label.empty() ? "" : fmt::format(" ({})", for_terminal(label)), describe_duration(taken.took));
  };
  news.failed = [](const Error& error) {
    fmt::print(stderr, "sickbay-ckpt: note: no checkpoint: {}\n", for_terminal(error.line()));
  };
  return news;
}

}  // namespace

Result<int> run_command(const Options& o) {
  if (auto engine = check_engine(o.engine); !engine) return tl::unexpected<Error>(std::move(engine.error()));
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  const auto plan = plan_of(o, place->me);
  if (!plan) return tl::unexpected<Error>(plan.error());
  auto series = series_of(o, *place, true);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));

  const BackWish back_wish{.begin_at = place->begin_at, .target = plan->folder, .threads = threads_here()};
  const auto back = go_back(*series, place->me, back_wish, plan->waiting);
  if (!back) return tl::unexpected<Error>(back.error());
  tell_notes(back->notes);
  if (back->number != 0) tell_sickbayd(news_of(*back, *series, place->me), place->me, Telling::in_background);
  if (auto cleared = clear_asking(plan->how); !cleared) return tl::unexpected<Error>(cleared.error());

  ::unsetenv("SICKBAY_CKPT_RESTORED");
  ::unsetenv("SICKBAY_CKPT_LABEL");
  std::vector<std::string> more;
  if (back->number != 0)
    more = {fmt::format("SICKBAY_CKPT_RESTORED={}", back->number), "SICKBAY_CKPT_LABEL=" + back->label};
  LeavingLook leaving(leaving_file(environment, place->me), place->me, plan->waiting.now());
  const auto child = Child::start(o.program, more, plan->wish);
  if (!child) {
    fmt::print(stderr, "{}\n", child.error().message("sickbay-ckpt"));
    return child.error().code == ErrorCode::not_found ? kNotFound : kCannotRun;
  }
  if (::nice(kNiceness) == -1) tell_notes({"the saving cannot be made less urgent than the program"});

  AskedProgram program(**child, plan->how);
  const RoundsWish wish{.rhythm = plan->rhythm,
                        .run = back->turn,
                        .waiting = plan->waiting,
                        .at_end = o.at_end == "save",
                        .look_around = [&] { leaving.look(*series, plan->waiting.now()); }};
  const Status kept =
      keep_rounds(*series, place->me, program, wish, taking(o, *plan, *place, *series, program),
                  news_here(o, *series, place->me));
  if (!kept)
    fmt::print(stderr, "sickbay-ckpt: note: no checkpoints: {}\n", for_terminal(kept.error().line()));
  (*child)->wait();
  // What is under way ends with the step.  (What went wrong before is tried once more.)
  if (place->fast) flush_behind(o, *place, 0, true, Telling::to_its_end);
  return (*child)->code();
}

}  // namespace sickbay::ckpt
