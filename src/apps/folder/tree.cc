// SPDX-License-Identifier: Apache-2.0
// Measuring and removing; copying is in tree_copy.cc.
#include "apps/folder/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <set>

#include "adapters/posix/files.h"
#include "apps/folder/copy_mark.h"
#include "apps/folder/tree_walk.h"

namespace sickbay {
namespace {

using Clock = std::chrono::steady_clock;

class Measure {
 public:
  explicit Measure(const TreeBounds& bounds) : bounds_(bounds) {}
  TreeSize size;

  void folder(Descriptor fd, const std::string& path, dev_t device) {
    const bool top = std::exchange(top_, false);
    const bool listed = each_entry(std::move(fd), [&](int at, const std::string& name) {
      struct stat about = {};
      if (top && name == kCopyMark) return true;
      if (::fstatat(at, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return true;  // gone meanwhile
      if (!take(about)) return false;
      if (S_ISLNK(about.st_mode)) return true;
      if (S_ISREG(about.st_mode)) {
        if (::faccessat(at, name.c_str(), R_OK, AT_EACCESS) != 0) unreadable(path + "/" + name);
        return true;
      }
      if (!S_ISDIR(about.st_mode) || about.st_dev != device) {
        ++size.left_out;
        return true;
      }
      if (is_case_folder(name) || is_kept_folder(name)) {
        --size.files;
        return true;
      }
      Descriptor below = open_folder(at, name);
      if (below)
        folder(std::move(below), path + "/" + name, device);
      else
        unreadable(path + "/" + name);
      return !size.over && !size.time_over;
    });
    if (!listed && !size.over && !size.time_over) unreadable(path);
  }

 private:
  bool take(const struct stat& about) {
    ++size.files;
    if (S_ISREG(about.st_mode) && (about.st_nlink < 2 || seen_.emplace(about.st_dev, about.st_ino).second))
      size.bytes += bytes_on_disk(about);
    size.over = size.files > bounds_.files || size.bytes > bounds_.bytes;
    size.time_over = size.files % 64 == 0 && Clock::now() >= bounds_.until;
    return !size.over && !size.time_over;
  }
  void unreadable(const std::string& path) {
    if (size.unreadable++ == 0) size.first_unreadable = path;
  }

  const TreeBounds& bounds_;
  std::set<std::pair<dev_t, ino_t>> seen_;  // bounded by the bound of files
  bool top_ = true;
};

class Removal {
 public:
  explicit Removal(Clock::time_point until) : until_(until) {}
  std::uint64_t removed = 0;
  int wrong = 0;  ///< the first errno
  bool time_over = false;

  // All in the folder; it stays.
  void empty(Descriptor fd, dev_t device) {
    // A program may have left folders that it may not write to itself; their owner may change that.
    (void)::fchmod(fd.get(), 0700);
    each_entry(std::move(fd), [&](int at, const std::string& name) {
      if (removed % 64 == 0 && Clock::now() >= until_) time_over = true;
      if (time_over) return false;
      struct stat about = {};
      if (::fstatat(at, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return note(errno);
      if (!S_ISDIR(about.st_mode)) return take_away(at, name, 0);
      if (about.st_dev != device) return note(EXDEV);
      if (Descriptor below = open_folder(at, name); below) {
        empty(std::move(below), device);
      } else if (errno == EACCES && ::fchmodat(at, name.c_str(), 0700, 0) == 0) {
        // (Between the look and this the entry could become a link only by the owner's own hand.)
        if (Descriptor again = open_folder(at, name); again) empty(std::move(again), device);
      }
      return !time_over && take_away(at, name, AT_REMOVEDIR);
    });
  }
  bool take_away(int at, const std::string& name, int flags) {
    if (::unlinkat(at, name.c_str(), flags) != 0) return note(errno);
    ++removed;
    return true;
  }

 private:
  bool note(int number) {
    if (number != ENOENT && wrong == 0) wrong = number;
    return true;  // what can be removed goes
  }
  Clock::time_point until_;
};

}  // namespace

Result<TreeSize> measure_tree(const std::string& folder, const TreeBounds& bounds) {
  Descriptor fd = open_folder(AT_FDCWD, folder, true);
  struct stat about = {};
  if (!fd || ::fstat(fd.get(), &about) != 0) return fail(file_error(errno, "read the folder", folder));
  Measure measure(bounds);
  measure.folder(std::move(fd), folder, about.st_dev);
  return measure.size;
}

Result<std::uint64_t> remove_tree(const std::string& folder, Clock::time_point until) {
  struct stat about = {};
  if (::lstat(folder.c_str(), &about) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return 0;
    return fail(file_error(errno, "look at", folder));
  }
  if (!S_ISDIR(about.st_mode)) return fail(ErrorCode::bad_input, folder + " is no folder");
  Descriptor fd = open_folder(AT_FDCWD, folder);
  if (!fd && errno == EACCES && ::chmod(folder.c_str(), 0700) == 0) fd = open_folder(AT_FDCWD, folder);
  if (!fd) return fail(file_error(errno, "open", folder));
  Removal removal(until);
  removal.empty(std::move(fd), about.st_dev);
  if (!removal.time_over) removal.take_away(AT_FDCWD, folder, AT_REMOVEDIR);
  if (removal.time_over)
    return fail(Error(ErrorCode::timed_out, "not all of " + folder + " could be removed in time"));
  if (removal.wrong != 0) return fail(file_error(removal.wrong, "remove all of", folder));
  return removal.removed;
}

}  // namespace sickbay
