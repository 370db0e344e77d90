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

namespace {

constexpr std::chrono::seconds kOrphanLetsGo{5};

// The number that a writer has left in the lock file; "" where there is none.
std::string writer_of(int fd) {
  char pid[32] = {};
  return ::pread(fd, pid, sizeof pid - 1, 0) > 0 ? pid : "";
}

bool is_gone(const std::string& pid) {
  const int number = std::atoi(pid.c_str());
  return number > 0 && ::kill(number, 0) != 0 && errno == ESRCH;
}

}  // namespace

WriterLock::~WriterLock() {
  if (fd_ >= 0) ::close(fd_);
}

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
  while (::fcntl(fd_, F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES)
      return fail(
          Error(ErrorCode::storage_broken, fmt::format("cannot lock {}: {}", file, std::strerror(errno)))
              .because("the journal must lie on a local file system with locks"));
    const std::string writer = writer_of(fd_);
    if (!is_gone(writer) || std::chrono::steady_clock::now() >= last_try)
      return fail(Error(ErrorCode::conflict, fmt::format("{} is in use by process {}", path,
                                                         writer.empty() ? "(unknown)" : writer))
                      .because("a journal has one writer at a time")
                      .remedied_by("stop that process first, or leave it be"));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // The number only serves the message to a second writer: a full disk must not keep the first one out.
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(fd_, 0) == 0) (void)!::pwrite(fd_, pid.data(), pid.size(), 0);
  return {};
}

}  // namespace sickbay::sqlite
