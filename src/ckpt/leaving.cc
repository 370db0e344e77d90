// SPDX-License-Identifier: Apache-2.0
#include "ckpt/leaving.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "model/leaving.h"

namespace sickbay::ckpt {
namespace {

constexpr const char* kWishName = "leaving";
constexpr std::size_t kMostWishBytes = 4096;
constexpr Micros kLookEvery = std::chrono::seconds(1), kAfterFailure = std::chrono::seconds(10);

}  // namespace

FileMark::Look FileMark::look(const std::string& path) {
  struct ::stat info {};
  // Inode and time: the agent replaces the file by rename, so another content is another inode.
  if (::stat(path.c_str(), &info) != 0) {
    inode_ = 0;
    return Look::none;
  }
  const std::int64_t changed = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  const auto inode = static_cast<std::int64_t>(info.st_ino);
  if (inode == inode_ && changed == changed_ns_) return Look::same;
  inode_ = inode;
  changed_ns_ = changed;
  return Look::other;
}

// --- the wish

std::string LeavingWish::token() const { return fmt::format("leaving {} {}", node, since_us); }

std::string leaving_path(const Series& series) { return series.board + "/" + kWishName; }

std::optional<LeavingWish> read_leaving_wish(const Series& series) {
  const auto text = checkpoint::read_whole(*series.files, leaving_path(series), kMostWishBytes);
  const auto json = text ? Json::parse(*text) : Result<Json>(Json());
  if (!json) return std::nullopt;
  LeavingWish wish{(*json)["node"].as_string(), (*json)["since"].as_int()};
  if (!checkpoint::is_plain_name(wish.node) || wish.since_us <= 0) return std::nullopt;
  return wish;
}

Status write_leaving_wish(const Series& series, const LeavingWish& wish) {
  if (!checkpoint::is_plain_name(wish.node))
    return fail(ErrorCode::usage, quote_for_message(wish.node) + " cannot be the name of a node");
  return checkpoint::write_whole(*series.files, series.board, kWishName,
                                 Json::object({{"node", wish.node}, {"since", wish.since_us}}).dump() + "\n");
}

// Any checkpoint that was begun later is the answer, and so is a failure (leaving_done_us).
std::int64_t leaving_answered(const SeriesState& state) {
  return std::max(state.begun_us, state.leaving_done_us);
}

bool is_open(const LeavingWish& wish, std::int64_t answered, TimePoint started) {
  return wish.since_us > answered && wish.since_us >= to_micros(started);
}

Status note_leaving_answer(const Series& series, const LeavingWish& wish) {
  SeriesState state = read_state(series);
  state.leaving_done_us = std::max(state.leaving_done_us, wish.since_us);
  return write_state(series, state);
}

// --- the node

std::string leaving_file(const Variable& variable, const Participant& me) {
  const std::string set = variable("SICKBAY_LEAVING_FILE");
  if (set.empty()) return kLeavingFile;
  if (!set.starts_with('/')) return "";
  const auto filled = fill_in(set, me);
  return filled ? *filled : "";
}

std::optional<TimePoint> read_leaving_file(const std::string& path, std::uint32_t owner) {
  // O_NONBLOCK: a FIFO under this name must not stop a user's program.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct ::stat info {};
  char bytes[kMostLeavingBytes];
  ::ssize_t got = -1;
  // Root's file alone: what any user could write would make all programs on the node save.
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == owner &&
      (info.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    got = ::read(fd, bytes, sizeof bytes);
  ::close(fd);
  if (got < 0) return std::nullopt;
  const auto since = parse_leaving(std::string_view(bytes, static_cast<std::size_t>(got)));
  return since ? std::optional(*since) : std::nullopt;
}

LeavingLook::LeavingLook(std::string file, const Participant& me, TimePoint started, std::uint32_t owner)
    : file_(std::move(file)), node_(me.node), started_(started), next_(started), owner_(owner) {}

void LeavingLook::look(const Series& series, TimePoint now) {
  if (file_.empty() || now < next_) return;
  next_ = now + kLookEvery;
  const FileMark::Look seen = mark_.look(file_);
  if (seen == FileMark::Look::none) since_.reset();
  if (seen == FileMark::Look::other) since_ = read_leaving_file(file_, owner_);
  // Most looks end here, after one stat and with nothing read.
  if (!since_ || to_micros(*since_) <= done_us_) return;
  const LeavingWish own{node_, to_micros(*since_)};
  const auto there = read_leaving_wish(series);
  if (!is_open(own, leaving_answered(read_state(series)), started_) ||
      (there && there->since_us >= own.since_us)) {
    done_us_ = own.since_us;
    return;
  }
  // Looked at again in a second: another node's, of an earlier moment, may have been written over it.
  if (!write_leaving_wish(series, own)) next_ = now + kAfterFailure;
}

}  // namespace sickbay::ckpt
