// SPDX-License-Identifier: Apache-2.0
// What measuring, copying and removing a folder share: descriptors, and entries one by one.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sickbay {

/// A descriptor that is closed.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// `follow`: the folder itself may be named by a link (of the user's); never one below it.
inline Fd open_folder(int at, const std::string& name, bool follow = false) {
  return Fd(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW)));
}

/// Calls `each(folder's descriptor, name)` until it says false.  False where the list broke off.
template <class Each>
bool each_entry(Fd fd, Each each) {
  const int number = fd.release();
  DIR* list = ::fdopendir(number);
  if (list == nullptr) {
    ::close(number);
    return false;
  }
  bool whole = true;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(list);
    if (entry == nullptr) {
      whole = errno == 0;
      break;
    }
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (!each(number, name)) {
      whole = false;
      break;
    }
  }
  ::closedir(list);
  return whole;
}

/// "sickbay-c17": where the re-runs of a case have their output and their copies.
inline bool is_case_folder(std::string_view name) {
  constexpr std::string_view kStart = "sickbay-c";
  return name.size() > kStart.size() && name.starts_with(kStart) &&
         std::all_of(name.begin() + kStart.size(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// What a user keeps of recorded jobs (sickbay submit --record): a copy for a re-run needs none of it.
inline bool is_kept_folder(std::string_view name) { return name == ".sickbay"; }

/// What a file takes: of a sparse one only what it has.
inline std::uint64_t bytes_on_disk(const struct stat& about) {
  return static_cast<std::uint64_t>(
      std::min<std::int64_t>(about.st_size, std::int64_t{about.st_blocks} * 512));
}

}  // namespace sickbay
