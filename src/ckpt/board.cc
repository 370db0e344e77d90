// SPDX-License-Identifier: Apache-2.0
#include "ckpt/board.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/duration.h"

namespace sickbay::ckpt {
namespace {

constexpr std::size_t kMostBoardBytes = 4 << 20;
// Between two looks: short at first, for most answers come at once; longer later, for 1000 processes that
// look at one folder are a load for shared storage.
constexpr Micros kFirstLook{2'000}, kLastLook{500'000};

// A network's file system keeps in mind that a name was not there; to open the folder makes it ask again.
void look_again(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) ::close(fd);
}

// "3, 5 and 12 more".
std::string some_of(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t kTold = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kTold); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kTold) text += fmt::format(" and {} more", ranks.size() - kTold);
  return text;
}

// Pauses that grow, until the patience is at its end.
class Patience {
 public:
  explicit Patience(const Waiting& waiting) : waiting_(waiting), until_(waiting.now() + waiting.patience) {}
  // Something new has come.
  void renew() {
    until_ = waiting_.now() + waiting_.patience;
    pause_ = kFirstLook;
  }
  // False at its end.
  Result<bool> wait() {
    // Asked before the clock is looked at: "your program has ended" says more than a timeout.
    if (waiting_.still)
      if (auto going = waiting_.still(); !going) return tl::unexpected<Error>(std::move(going.error()));
    if (waiting_.now() >= until_) return false;
    waiting_.pause(pause_);
    pause_ = std::min(pause_ * 3 / 2, kLastLook);
    return true;
  }

 private:
  const Waiting& waiting_;
  TimePoint until_;
  Micros pause_ = kFirstLook;
};

}  // namespace

Waiting real_waiting(Micros patience) {
  return {[] { return std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now()); },
          [](Micros length) { std::this_thread::sleep_for(length); }, patience};
}

Result<Board> Board::open(checkpoint::Files& files, std::string folder, const Participant& me,
                          const std::string& topic) {
  // A single process talks to itself: lead_ and own_ are its board.
  if (me.ranks > 1)
    if (auto made = files.make_folder(folder); !made) return tl::unexpected<Error>(std::move(made.error()));
  return Board(files, std::move(folder), me, fmt::format("{}.{}", me.session, topic));
}

Result<std::optional<Json>> Board::read(const std::string& name) const {
  const std::string path = fmt::format("{}/{}", folder_, name);
  auto text = checkpoint::read_whole(*files_, path, kMostBoardBytes);
  if (!text && text.error().code == ErrorCode::not_found) return std::nullopt;
  if (!text) return tl::unexpected<Error>(std::move(text.error()));
  auto json = Json::parse(*text);
  if (!json) return tl::unexpected<Error>(std::move(json.error()).in("reading " + path));
  return std::move(*json);
}

Status Board::write(const std::string& name, const Json& what) {
  return checkpoint::write_whole(*files_, folder_, name, what.dump() + "\n");
}

Status Board::say(Json what) {
  if (ranks_ > 1) return write(stem_ + ".lead", what);
  lead_ = std::move(what);
  return {};
}
Result<std::optional<Json>> Board::said() const { return ranks_ > 1 ? read(stem_ + ".lead") : lead_; }

Status Board::answer(Json what) {
  if (ranks_ > 1) return write(fmt::format("{}.r{}", stem_, rank_), what);
  own_ = std::move(what);
  return {};
}
Result<std::optional<Json>> Board::answered(std::int64_t rank) const {
  return ranks_ > 1 ? read(fmt::format("{}.r{}", stem_, rank)) : own_;
}

Result<Json> Board::hear(const Waiting& waiting, const std::function<bool(const Json&)>& fits) const {
  Patience patience(waiting);
  for (std::string wrong;;) {
    look_again(folder_);
    auto lead = said();
    if (lead && *lead && fits(**lead)) return std::move(**lead);
    // (A file that was replaced while it was read: the next look finds the new one.)
    wrong = lead ? "" : lead.error().line();
    const auto going = patience.wait();
    if (!going) return tl::unexpected<Error>(going.error());
    if (!*going)
      return fail(
          Error(ErrorCode::timed_out,
                fmt::format("rank 0 said nothing for {}", describe_duration(waiting.patience)))
              .because(wrong)
              .remedied_by("see whether it still runs, and whether all processes call this; give them "
                           "longer: --timeout (of a program with the library: SICKBAY_CHECKPOINT_TIMEOUT)"));
  }
}

Result<std::vector<Json>> Board::gather(const Waiting& waiting,
                                        const std::function<bool(const Json&)>& fits) const {
  Patience patience(waiting);
  std::vector<Json> all(static_cast<std::size_t>(ranks_));
  std::vector<std::int64_t> lacking;
  for (std::int64_t rank = 0; rank < ranks_; ++rank) lacking.push_back(rank);
  for (std::string wrong;;) {
    look_again(folder_);
    const std::size_t before = lacking.size();
    wrong.clear();
    std::erase_if(lacking, [&](std::int64_t rank) {
      auto one = answered(rank);
      if (!one) wrong = one.error().line();
      if (!one || !*one || !fits(**one)) return false;
      all[static_cast<std::size_t>(rank)] = std::move(**one);
      return true;
    });
    if (lacking.empty()) return all;
    // The patience is for silence, not for the whole: with many processes answers may come in for longer than
    // that.
    if (lacking.size() < before) patience.renew();
    const auto going = patience.wait();
    if (!going) return tl::unexpected<Error>(going.error());
    if (!*going)
      return fail(
          Error(ErrorCode::timed_out,
                fmt::format("no answer of {} {} for {}", lacking.size() == 1 ? "rank" : "ranks",
                            some_of(lacking), describe_duration(waiting.patience)))
              .because(wrong)
              .remedied_by("see whether they still run, and whether all processes call this; give them "
                           "longer: --timeout (of a program with the library: SICKBAY_CHECKPOINT_TIMEOUT)"));
  }
}

// Of this start nothing goes: other sessions (steps) of it may be under way.
void tidy_board(checkpoint::Files& files, const std::string& folder, const Participant& me) {
  const auto names = files.list(folder);
  if (!names) return;
  for (const std::string& name : *names)
    for (std::int64_t restart = 0; restart < me.restart; ++restart)
      if (name.starts_with(fmt::format("{}.{}.", me.in_job, restart)))
        (void)files.remove(fmt::format("{}/{}", folder, name));
}

}  // namespace sickbay::ckpt
