// SPDX-License-Identifier: Apache-2.0
#include "adapters/sqlite/writer_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "adapters/sqlite/statement.h"

namespace sickbay::sqlite {

WriterLock::~WriterLock() {
  if (fd_ >= 0) ::close(fd_);
}

namespace {

constexpr std::chrono::seconds kOrphanLetsGo{5};

// The process that has written its number into the lock file has ended.
bool writer_is_gone(int fd) {
  char pid[32] = {};
  const int number = ::pread(fd, pid, sizeof pid - 1, 0) > 0 ? std::atoi(pid) : 0;
  const bool gone = number > 0 && ::kill(number, 0) != 0 && errno == ESRCH;
  errno = EAGAIN;  // of the lock, which the caller tells of
  return gone;
}

}  // namespace

Status WriterLock::take(const std::string& path) {
  const std::string file = path + ".lock";
  fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd_ < 0)
    return fail(error_code_of(errno), fmt::format("cannot open {}: {}", file, std::strerror(errno)));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  // A writer that was killed between the fork and the exec of a process of its own leaves the lock to that,
  // which lets go of it at its exec: a moment, on a busy machine a long one.
  const auto last_try = std::chrono::steady_clock::now() + kOrphanLetsGo;
  int taken = ::fcntl(fd_, F_OFD_SETLK, &lock);
  while (taken != 0 && (errno == EAGAIN || errno == EACCES) && writer_is_gone(fd_) &&
         std::chrono::steady_clock::now() < last_try) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    taken = ::fcntl(fd_, F_OFD_SETLK, &lock);
  }
  if (taken != 0) {
    if (errno != EAGAIN && errno != EACCES)
      return fail(
          Error(ErrorCode::storage_broken, fmt::format("cannot lock {}: {}", file, std::strerror(errno)))
              .because("the journal must lie on a local file system with locks"));
    char pid[32] = {};
    const ssize_t n = ::pread(fd_, pid, sizeof pid - 1, 0);
    return fail(
        Error(ErrorCode::conflict, fmt::format("{} is in use by process {}", path, n > 0 ? pid : "(unknown)"))
            .because("a journal has one writer at a time")
            .remedied_by("stop that process first, or leave it be"));
  }
  // The number only serves the message to a second writer: a full disk must not keep the first one out.
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(fd_, 0) == 0) (void)!::pwrite(fd_, pid.data(), pid.size(), 0);
  return {};
}

}  // namespace sickbay::sqlite
