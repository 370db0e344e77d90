// SPDX-License-Identifier: Apache-2.0
#include "ckpt/run/asked_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "base/text.h"
#include "base/words.h"

namespace sickbay::ckpt {
namespace {

constexpr std::size_t kMostLabel = 256;

tl::unexpected<Error> cannot(const char* what, const std::string& path, int wrong) {
  return fail(wrong == EACCES || wrong == EPERM ? ErrorCode::denied : ErrorCode::storage_broken,
              fmt::format("cannot {} {}: {}", what, quote_for_message(path), ::strerror(wrong)));
}

Status remove_file(const std::string& path) {
  if (path.empty() || ::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return cannot("remove", path, errno);
}

auto time_of(const struct ::stat& state) { return std::tuple(state.st_mtim.tv_sec, state.st_mtim.tv_nsec); }
auto identity(const struct ::stat& state) {
  return std::tuple(state.st_dev, state.st_ino, state.st_size, time_of(state));
}

}  // namespace

Status clear_asking(const HowToAsk& how) {
  if (auto removed = remove_file(how.ask_file); !removed) return removed;
  return remove_file(how.done_file);
}

// An old done file would be taken for the answer to the question that comes now.
Result<bool> AskedProgram::make_ready() {
  if (auto cleared = clear_asking(how_); !cleared) return tl::unexpected<Error>(std::move(cleared.error()));
  mark_ = {};
  return how_.signal == 0 || how_.by_others || child_.is_ready_for(how_.signal);
}

Status AskedProgram::ask() {
  if (how_.by_others) return {};
  if (how_.signal != 0) {
    child_.send(how_.signal);
    return {};
  }
  const int fd =
      ::open(how_.ask_file.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (fd < 0) return cannot("make", how_.ask_file, errno);
  ::close(fd);
  return {};
}

Result<std::optional<std::string>> AskedProgram::written() {
  // (One that is replaced meanwhile: the open one is whole.)
  const int fd = ::open(how_.done_file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  // ESTALE: on NFS a file that was replaced between finding its name and opening it.
  if (fd < 0 && (errno == ENOENT || errno == ESTALE)) return std::nullopt;
  if (fd < 0) return cannot("open", how_.done_file, errno);
  struct ::stat state {};
  std::array<char, 4096> bytes{};
  const bool known = ::fstat(fd, &state) == 0;
  const ::ssize_t got = ::read(fd, bytes.data(), bytes.size());
  const int wrong = errno;
  ::close(fd);
  if (!known || got < 0) return cannot("read", how_.done_file, wrong);
  std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  const std::string_view label = trimmed(next_line(text).value_or(""));
  if (label.size() > kMostLabel)
    return fail(Error(ErrorCode::bad_input, fmt::format("the first line of {} is longer than {} bytes",
                                                        quote_for_message(how_.done_file), kMostLabel))
                    .remedied_by("let the program write there what its state is called: a word or a number"));
  mark_ = state;
  return std::string(label);
}

Status AskedProgram::still_so() {
  const auto another = [] {
    return fail(Error(ErrorCode::conflict, "the program has written its files again while they were saved")
                    .remedied_by("let it write them only when it is asked, once for each time, and its done "
                                 "file last"));
  };
  struct ::stat now {};
  // By device, inode, size and time: the program replaces it by rename each time that it writes.
  if (::stat(how_.done_file.c_str(), &now) != 0 || identity(now) != identity(mark_)) return another();
  // (Times of one file system alone are of one clock.)
  for (const checkpoint::Source& file : files_)
    if (::stat(file.path.c_str(), &now) == 0 && now.st_dev == mark_.st_dev && time_of(now) > time_of(mark_))
      return another();
  return {};
}

}  // namespace sickbay::ckpt
