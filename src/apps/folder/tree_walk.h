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

#include "base/descriptor.h"

namespace sickbay {

/// `follow`: the folder itself may be named by a link (of the user's); never one below it.
inline Descriptor open_folder(int at, const std::string& name, bool follow = false) {
  return Descriptor(
      ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW)));
}

/// Calls `each(folder's descriptor, name)` until it says false.  False where the list broke off.
template <class Each>
bool each_entry(Descriptor fd, Each each) {
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
