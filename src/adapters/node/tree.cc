// SPDX-License-Identifier: Apache-2.0
// Reading files below a root with as few system calls as can be: open, read, close.
#include "adapters/node/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

Error read_error(int number, std::string_view file) {
  ErrorCode code = ErrorCode::os;
  // All these say that it is not there: ESRCH, a process that ended between open and read; ENODEV and ENXIO,
  // a file of /sys whose device is gone.
  if (number == ENOENT || number == ENOTDIR || number == ESRCH || number == ENODEV || number == ENXIO)
    code = ErrorCode::not_found;
  if (number == EACCES || number == EPERM) code = ErrorCode::denied;
  if (number == ETIMEDOUT || number == EAGAIN) code = ErrorCode::timed_out;
  return Error(code, fmt::format("cannot read {}: {}", file, std::strerror(number)));
}

}  // namespace

Tree::Tree(std::string_view root) : root_(root) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
}

Status Tree::read_into(std::string_view file, std::string& text, std::size_t limit) const {
  text.clear();
  // Not blocking: a fifo in the place of a file must not hold us.
  const int fd = ::open(path(file).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return fail(read_error(errno, file));
  std::size_t have = 0;
  for (;;) {
    // Most files fit in one page, which the second read confirms.
    text.resize(std::min(limit, have + std::max<std::size_t>(4096, have)));
    // The limit is reached.
    if (have == text.size()) break;
    const ssize_t n = ::read(fd, text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int number = errno;
      ::close(fd);
      text.clear();
      return fail(read_error(number, file));
    }
    have += static_cast<std::size_t>(n);
    if (n == 0) break;
  }
  ::close(fd);
  text.resize(have);
  return {};
}

Result<std::string> Tree::read(std::string_view file, std::size_t limit) const {
  std::string text;
  if (auto ok = read_into(file, text, limit); !ok) return fail(std::move(ok.error()));
  return text;
}

Result<std::string> Tree::records(std::string_view file, std::size_t limit) const {
  const int fd = ::open(path(file).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return fail(read_error(errno, file));
  std::string text;
  char record[8192];  // no record is longer; a shorter buffer would be refused
  for (;;) {
    const ssize_t n = ::read(fd, record, sizeof record);
    if (n < 0 && (errno == EINTR || errno == EPIPE)) continue;  // EPIPE: some were overwritten meanwhile
    const int number = n < 0 ? errno : 0;
    if (n < 0 && number != EAGAIN) {
      ::close(fd);
      return fail(read_error(number, file));
    }
    if (n <= 0) break;
    // At twice the limit, so that each byte is moved once on average.
    if (text.size() > 2 * limit) text.erase(0, text.size() - limit);
    text.append(record, static_cast<std::size_t>(n));
  }
  ::close(fd);
  // From the start of a record: the cut may lie within one.
  if (text.size() > limit) text.erase(0, text.find('\n', text.size() - limit) + 1);
  return text;
}

std::optional<std::string> Tree::word(std::string_view file) const {
  const auto text = read(file, 65536);
  if (!text) return std::nullopt;
  return std::string(trimmed(*text));
}

std::optional<std::int64_t> Tree::number(std::string_view file) const {
  const auto text = read(file, 4096);
  if (!text) return std::nullopt;
  return to_integer(trimmed(*text));
}

std::int64_t Tree::count(std::string_view file) const {
  return std::clamp<std::int64_t>(number(file).value_or(0), 0, std::int64_t{1} << 50);
}

std::vector<std::string> Tree::list(std::string_view folder) const {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(path(folder).c_str()), ::closedir);
  if (!open) return names;
  while (const dirent* entry = ::readdir(open.get()))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

bool Tree::exists(std::string_view file) const {
  struct stat st {};
  return ::lstat(path(file).c_str(), &st) == 0;
}

std::optional<std::string> Tree::link(std::string_view file) const {
  char target[4096];
  const ssize_t n = ::readlink(path(file).c_str(), target, sizeof target);
  if (n < 0) return std::nullopt;
  return std::string(target, static_cast<std::size_t>(n));
}

}  // namespace sickbay::node
