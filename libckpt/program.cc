// SPDX-License-Identifier: Apache-2.0
#include "libckpt/program.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/digest/sha256.h"
#include "base/duration.h"
#include "base/text.h"
#include "base/text_table.h"
#include "ckpt/agree.h"
#include "ckpt/ask.h"
#include "ckpt/board.h"
#include "ckpt/declared.h"
#include "ckpt/take.h"

namespace sickbay::libckpt {
namespace {

constexpr std::size_t kKeep = 3;                     // as sickbay-ckpt save
constexpr std::size_t kMostLabel = 200;              // bytes
constexpr std::size_t kMostSession = 60;             // as sickbay_ckpt.h says; job and start come before it
constexpr double kMostSeconds = 1e9;                 // some 30 years
constexpr std::uint64_t kMostBinary = 256ULL << 20;  // bytes: digested in less than a second
constexpr Micros kAskEvery = std::chrono::seconds(1);

void tell(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "sickbay-ckpt: note: {}\n", for_terminal(note));
}

tl::unexpected<Error> usage(std::string what, std::string remedy) {
  return fail(Error(ErrorCode::usage, std::move(what)).remedied_by(std::move(remedy)));
}

// Nothing: it is not set.
Result<std::optional<Micros>> duration_in(const char* name) {
  const std::string text = ckpt::environment(name);
  if (text.empty()) return std::nullopt;
  const auto duration = parse_duration(text);
  if (duration) return *duration;
  return usage(fmt::format("{} is {}", name, quote_for_message(text)), "give it as 90s, 10m, 2h or 5d");
}

Result<std::optional<Micros>> time_between(double seconds) {
  if (!(seconds >= 0 && seconds <= kMostSeconds))
    return usage(fmt::format("{} seconds between two checkpoints", seconds), "take 0 (none) to 1e9 seconds");
  if (seconds == 0) return std::nullopt;
  return Micros(std::max<Micros::rep>(static_cast<Micros::rep>(seconds * 1e6), 1));
}
std::optional<Micros> unless_zero(const std::optional<Micros>& duration) {
  return duration && duration->count() > 0 ? duration : std::nullopt;
}

ckpt::DueFacts facts_from_now() {
  ckpt::DueFacts facts;
  facts.started = std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now());
  facts.now = facts.last = facts.started;
  return facts;
}

bool is_label(std::string_view text) {
  if (text.size() > kMostLabel) return false;
  while (!text.empty()) {
    const Rune rune = next_rune(text);
    if (!rune.valid || rune.code < 0x20 || rune.code == 0x7f) return false;
    text.remove_prefix(rune.bytes);
  }
  return true;
}

}  // namespace

Program::Program(ckpt::JobPlace place, std::string name, std::unique_ptr<checkpoint::Files> files,
                 ckpt::Series series, std::string folder)
    : place_(std::move(place)),
      me_(place_.me),
      name_(std::move(name)),
      folder_(std::move(folder)),
      files_(std::move(files)),
      series_(std::move(series)),
      opened_(std::chrono::steady_clock::now()),
      facts_(facts_from_now()),
      leaving_(ckpt::leaving_file(ckpt::environment, me_), me_, facts_.started) {
  look_at_ = look_at_ask_ = facts_.started;
  facts_.job_end = me_.job_end;
}

Program::~Program() {
  // (The step ends behind the program, and with it what flushes.)
  if (to_flush_ > 0) flush(to_flush_, true, ckpt::Telling::to_its_end);
}

// A program that cannot have its fast place does without: what it saves is as safe, and slower.
void Program::use_fast(const ckpt::FastWish& wish) {
  flusher_ = ckpt::flush_program(ckpt::environment);
  if (flusher_.empty()) {
    if (me_.rank == 0)
      tell({"no fast place is used: sickbay-ckpt, which flushes, is not found (SICKBAY_CKPT_PROGRAM)"});
    return;
  }
  if (const auto used = series_.use_fast(wish, me_, true); !used) tell({used.error().line()});
  ckpt::use_keepers(series_, flusher_, place_, name_);
}

void Program::flush(std::int64_t number, bool again, ckpt::Telling how) {
  const ckpt::FlushOrder order{.number = number,
                               .keep = static_cast<std::int64_t>(kKeep),
                               .again = again,
                               .patience = waiting_.patience};
  if (const auto done = ckpt::start_flush(flusher_, place_, name_, order, how); !done)
    tell({done.error().line()});
}

Result<std::unique_ptr<Program>> Program::open(const std::string& name, ckpt::PlaceWish wish) {
  const bool own_session = !wish.session.empty();
  if (wish.session.size() > kMostSession)
    return usage(fmt::format("{} is too long for a session", quote_for_message(wish.session)),
                 fmt::format("take up to {} letters, digits, '.', '-' and '_'", kMostSession));
  auto place = ckpt::place_here(wish);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  // (So that what it leaves goes with what earlier starts have left, and is never a later start's.)
  if (own_session)
    place->me.session = fmt::format("{}.{}.{}", place->me.in_job, place->me.restart, place->me.session);
  const auto patience = duration_in("SICKBAY_CHECKPOINT_TIMEOUT");
  const auto every = duration_in("SICKBAY_CHECKPOINT_EVERY"), mttf = duration_in("SICKBAY_CHECKPOINT_MTTF");
  for (const auto* read : {&patience, &every, &mttf})
    if (!*read) return tl::unexpected<Error>(read->error());
  std::error_code wrong;
  const auto folder = std::filesystem::canonical(".", wrong);
  if (wrong) return fail(ErrorCode::not_found, fmt::format("no current folder: {}", wrong.message()));
  auto files = checkpoint::make_posix_files();
  auto series = ckpt::Series::open(*files, place->root, place->me.job, name);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));

  std::unique_ptr<Program> program(
      new Program(std::move(*place), name, std::move(files), std::move(*series), folder.string()));
  if (program->place_.fast) program->use_fast(*program->place_.fast);
  // (Those before it are of the same session: of who opened it before in this start.)
  const auto board = ckpt::Board::open(*program->files_, program->series_.board, program->me_, "take");
  const auto turn = board ? ckpt::next_turn(*board, program->me_) : tl::unexpected<Error>(board.error());
  if (!turn) return tl::unexpected<Error>(turn.error());
  program->turn_ = *turn - 1;
  program->waiting_ = ckpt::real_waiting(patience->value_or(std::chrono::minutes(30)));
  program->every_is_given_ = every->has_value();
  program->mttf_is_given_ = mttf->has_value();
  program->rhythm_.every = unless_zero(*every);
  program->rhythm_.mttf = unless_zero(*mttf);
  if (program->me_.rank == 0) {
    const ckpt::SeriesState state = ckpt::read_state(program->series_);
    program->facts_.cost = ckpt::usual_cost(state);
    program->token_done_ = state.asked_done;
    program->leaving_answered_ = ckpt::leaving_answered(state);
  }
  return program;
}

Status Program::memory(const std::string& name, char* bytes, std::size_t size) {
  if (!checkpoint::is_plain_name(name))
    return usage(fmt::format("{} cannot be the name of a part of memory", quote_for_message(name)),
                 "take up to 200 printable characters without '/', the first no '.'");
  const auto known = std::ranges::find(parts_, name, &Part::name);
  if (bytes == nullptr) {
    if (known != parts_.end()) parts_.erase(known);
  } else if (known == parts_.end()) {
    parts_.push_back({name, bytes, size});
  } else {
    *known = {name, bytes, size};
  }
  return {};
}

Status Program::file(const std::string& pattern) {
  auto filled = ckpt::fill_in(pattern, me_);
  if (!filled) return tl::unexpected<Error>(std::move(filled.error()));
  if (std::ranges::find(patterns_, pattern) == patterns_.end()) patterns_.push_back(pattern);
  return {};
}

Status Program::every(double seconds) {
  const auto length = time_between(seconds);
  if (!length) return tl::unexpected<Error>(length.error());
  // (What is given goes before either: a time between two would hide a given time between failures.)
  if (!every_is_given_ && !mttf_is_given_) rhythm_.every = *length;
  look_at_ = now();
  return {};
}

Status Program::mttf(double seconds) {
  const auto length = time_between(seconds);
  if (!length) return tl::unexpected<Error>(length.error());
  if (!mttf_is_given_) rhythm_.mttf = *length;
  look_at_ = now();
  return {};
}

TimePoint Program::now() const {
  return facts_.started + std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now() - opened_);
}

// Where no processors were given to this process, those of its node are shared with the others there.
int Program::threads() const {
  cpu_set_t set;
  const int mine = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  if (mine < ::sysconf(_SC_NPROCESSORS_ONLN)) return mine;
  return static_cast<int>(std::max<std::int64_t>(mine * me_.nodes / me_.ranks, 1));
}

// Rank 0: the digest of what runs, so that a state is not taken for that of another program unsaid.
void Program::look_at_binary() {
  if (std::exchange(looked_at_binary_, true)) return;
  std::error_code wrong;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", wrong);
  if (!wrong) binary_ = path.string();
  const auto file = files_->open("/proc/self/exe");
  const auto state = file ? (*file)->state() : Result<checkpoint::FileState>(checkpoint::FileState{});
  if (!file || !state || state->size > kMostBinary) return;
  Sha256 digest;
  std::string bytes(1 << 20, '\0');
  for (std::uint64_t at = 0;;) {
    const auto got = (*file)->read_at(at, bytes);
    if (!got) return;
    digest.add(std::string_view(bytes).substr(0, *got));
    at += *got;
    if (*got < bytes.size()) break;
  }
  binary_digest_ = checkpoint::parse_digest(digest.hex());
}

Result<ckpt::WentBack> Program::restore() {
  torn_ = false;
  // (Files are for any program; memory is for the one that has laid it out.)
  if (me_.rank == 0 && !parts_.empty()) look_at_binary();
  checkpoint::MemoryTarget memory;
  for (const Part& part : parts_)
    memory.parts.push_back({checkpoint::memory_name(me_.rank, part.name), {part.bytes, part.size}});
  const ckpt::BackWish wish{.begin_at = place_.begin_at,
                            .target = folder_,
                            .threads = threads(),
                            .binary_digest = parts_.empty() ? std::nullopt : binary_digest_,
                            .memory = &memory};
  auto back = ckpt::go_back(series_, me_, wish, waiting_);
  torn_ = !back && memory.changed;
  facts_.last = look_at_ = now();
  if (back && me_.rank == 0) {
    tell(back->notes);
    if (back->number > 0) tell_sickbayd(ckpt::news_of(*back, series_, me_));
  }
  return back;
}

// What is there and has no answer; "": nothing.
std::string Program::asked() const {
  if (!token_.empty() && token_ != token_done_) return token_;
  const bool leaving = wished_ && ckpt::is_open(*wished_, leaving_answered_, facts_.started);
  return leaving ? wished_->token() : "";
}

// At most once a second.
void Program::look_at_wishes() {
  if (facts_.now < look_at_ask_) return;
  look_at_ask_ = facts_.now + kAskEvery;
  leaving_.look(series_, facts_.now);
  const auto ask = ask_mark_.look(ckpt::ask_path(series_));
  if (ask == ckpt::FileMark::Look::none) token_.clear();
  if (ask == ckpt::FileMark::Look::other) token_ = ckpt::asked_token(series_);
  const auto leaving = leaving_mark_.look(ckpt::leaving_path(series_));
  if (leaving == ckpt::FileMark::Look::none) wished_.reset();
  if (leaving == ckpt::FileMark::Look::other) wished_ = ckpt::read_leaving_wish(series_);
  facts_.asked = asked();
}

bool Program::due() {
  const TimePoint at = now();
  if (at < look_at_) return false;
  facts_.now = at;
  if (me_.rank != 0) {
    // Its own node may be leaving, and not rank 0's.
    leaving_.look(series_, at);
    look_at_ = at + kAskEvery;
    return false;
  }
  look_at_wishes();
  why_ = ckpt::due(rhythm_, facts_);
  if (why_ != ckpt::DueWhy::no) return true;
  look_at_ = std::min(look_at_ask_, ckpt::next_due(rhythm_, facts_));
  return false;
}

Result<std::vector<checkpoint::Source>> Program::sources(const std::string& label) const {
  if (!is_label(label))
    return usage(fmt::format("{} cannot be a label", quote_for_message(label)),
                 fmt::format("take at most {} bytes of UTF-8 without control characters", kMostLabel));
  if (parts_.empty() && patterns_.empty())
    return usage("the program has named no state", "call sickbay_ckpt_memory or sickbay_ckpt_file before");
  std::vector<checkpoint::Source> all;
  if (!patterns_.empty()) {
    auto files = ckpt::declared_files(folder_, patterns_, me_, false, place_.root);
    if (!files) return files;
    all = std::move(*files);
  }
  for (const Part& part : parts_)
    all.push_back({checkpoint::memory_name(me_.rank, part.name), "", {part.bytes, part.size}});
  return all;
}

Status Program::save(const std::string& label) {
  if (me_.rank == 0) {
    facts_.now = look_at_ask_ = now();
    look_at_wishes();
    if (!parts_.empty()) look_at_binary();
  }
  ckpt::TakeWish wish;
  const auto all = sources(label);
  if (!all) wish.unable = all.error();
  wish.turn = ++turn_;
  wish.label = label;
  wish.threads = threads();
  wish.keep.count = kKeep;
  wish.binary = binary_;
  wish.binary_digest = parts_.empty() ? std::nullopt : binary_digest_;
  const auto taken =
      ckpt::take_checkpoint(series_, me_, all ? *all : std::vector<checkpoint::Source>(), wish, waiting_);
  Status saved = taken ? Status() : tl::unexpected<Error>(taken.error());
  if (taken && series_.flushes) {
    to_flush_ = taken->number;
    flush(to_flush_, false, ckpt::Telling::in_background);
  }
  if (me_.rank != 0) return saved;
  if (taken) {
    tell(taken->notes);
    tell_sickbayd(ckpt::news_of(*taken, series_, me_));
  }
  remember(saved);
  return saved;
}

// Rank 0: the job's history, which the program does not wait for.
void Program::tell_sickbayd(const ckpt::News& news) {
  if (!looked_for_sickbay_) sickbay_ = ckpt::sickbay_program(ckpt::environment);
  looked_for_sickbay_ = true;
  (void)ckpt::tell(sickbay_, news, me_, ckpt::Telling::in_background);
}

// Rank 0, after a checkpoint or none: when the next is due, and for who has asked, how it went.
void Program::remember(const Status& saved) {
  facts_.now = facts_.last = look_at_ = now();
  if (why_ == ckpt::DueWhy::before_end) facts_.ended_taken = true;
  why_ = ckpt::DueWhy::no;
  ckpt::SeriesState state = ckpt::read_state(series_);
  facts_.cost = ckpt::usual_cost(state);
  const bool by_token = !token_.empty() && token_ != token_done_;
  const bool by_leaving = wished_ && ckpt::is_open(*wished_, leaving_answered_, facts_.started);
  leaving_answered_ = std::max(leaving_answered_, ckpt::leaving_answered(state));
  if (by_token) {
    state.asked_done = token_done_ = token_;
    state.asked_error = saved ? "" : saved.error().line();
  }
  if (by_leaving) {
    state.leaving_done_us = std::max(state.leaving_done_us, wished_->since_us);
    leaving_answered_ = std::max(leaving_answered_, state.leaving_done_us);
  }
  facts_.asked = asked();
  if (!by_token && !by_leaving) return;
  if (!saved && saved.error().code == ErrorCode::busy) return;  // another writes series.json
  if (auto kept = ckpt::write_state(series_, state); !kept) tell({kept.error().line()});
}

}  // namespace sickbay::libckpt
