// SPDX-License-Identifier: Apache-2.0
// Descriptor: an open file, socket or pipe that is closed by whoever holds it last.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sickbay {

/// Holds one file descriptor, or none, and closes it at its end.  Moved, never copied.
class Descriptor {
 public:
  Descriptor() = default;
  /// `fd` is ours from now on; below 0, as a system call that failed gives it: none.
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }

  /// Whether there is one.
  explicit operator bool() const { return fd_ >= 0; }
  /// Its number, for a system call; below 0: none.
  int get() const { return fd_; }
  /// Closes it now.  errno stays, also at its end: what went wrong is often told after that.
  void reset() {
    if (fd_ < 0) return;
    const int before = errno;
    ::close(release());
    errno = before;
  }
  /// Its number, to be closed by the caller.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

}  // namespace sickbay
