// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <map>
#include <vector>

#include "adapters/posix/files.h"
#include "apps/folder/copy_mark.h"
#include "apps/folder/tree.h"
#include "apps/folder/tree_walk.h"

namespace sickbay {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kPiece = 4 << 20;  // between two looks at the clock
constexpr mode_t kModes = 0777;          // no set-id and sticky bits

std::string joined(const std::string& folder, const std::string& name) { return folder + "/" + name; }

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// The path without "." and "..", by its words alone: what it says may not be there.
std::string plain(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty())
      parts.pop_back();
  }
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

// Through a link to it a run can do harm.  Of a link to nothing the run may make what it names.
bool may_be_written(const std::string& target) {
  const auto writable = [](const std::string& path) {
    return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
  };
  struct stat about = {};
  if (::stat(target.c_str(), &about) == 0)
    return (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) && writable(target);
  // (Where it cannot be looked at it cannot be written to.)
  return errno == ENOENT && writable(target.substr(0, std::max<std::size_t>(1, target.rfind('/'))));
}

class Copy {
 public:
  Copy(std::string from, std::string real_from, std::string to, const TreeBounds& bounds)
      : from_(std::move(from)), real_from_(std::move(real_from)), to_(std::move(to)), bounds_(bounds) {}
  TreeSize size;
  Error error;

  /// False: `error` says why.  `below` is the path inside the folder, "" for itself.
  bool folder(Descriptor source, int target, const std::string& below, dev_t device) {
    bool good = true;
    each_entry(std::move(source), [&](int at, const std::string& name) {
      if (below.empty() && name == kCopyMark) return true;  // of a copy that the job was submitted from
      const std::string path = below.empty() ? name : joined(below, name);
      struct stat about = {};
      if (::fstatat(at, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return true;  // gone meanwhile
      if (S_ISDIR(about.st_mode) && (is_case_folder(name) || is_kept_folder(name))) return true;
      good = within(++size.files > bounds_.files) && entry(at, target, name, path, about, device);
      return good;
    });
    return good;
  }

 private:
  bool entry(int at, int target, const std::string& name, const std::string& path, const struct stat& about,
             dev_t device) {
    if (S_ISLNK(about.st_mode)) return link(at, target, name, path);
    if (S_ISREG(about.st_mode)) return file(at, target, name, path, about);
    if (!S_ISDIR(about.st_mode) || about.st_dev != device) return left_out(about, path);
    Descriptor source = open_folder(at, name);
    if (!source) return unreadable(path);
    if (::mkdirat(target, name.c_str(), 0700) != 0) return broken(errno, path);
    const Descriptor made = open_folder(target, name);
    if (!made) return broken(errno, path);
    if (!folder(std::move(source), made.get(), path, device)) return false;
    return like(made.get(), about, path);
  }

  bool file(int at, int target, const std::string& name, const std::string& path, const struct stat& seen) {
    // Many names of one file stay one file.
    const auto known = seen.st_nlink > 1 ? names_.find({seen.st_dev, seen.st_ino}) : names_.end();
    if (known != names_.end())
      return ::linkat(AT_FDCWD, joined(to_, known->second).c_str(), target, name.c_str(), 0) == 0 ||
             broken(errno, path);
    const Descriptor source(
        ::openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    struct stat about = {};
    if (!source || ::fstat(source.get(), &about) != 0) return errno == ENOENT || unreadable(path);
    if (!S_ISREG(about.st_mode)) return left_out(about, path);  // another one by now
    const Descriptor made(
        ::openat(target, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made) return broken(errno, path);
    if (about.st_nlink > 1) names_.emplace(std::pair(about.st_dev, about.st_ino), path);
    if (!content(source.get(), made.get(), about, path)) return false;
    return like(made.get(), about, path);
  }

  bool content(int source, int made, const struct stat& about, const std::string& path) {
    if (::ioctl(made, FICLONE, source) == 0) {
      size.bytes += bytes_on_disk(about);
      return within(size.bytes > bounds_.bytes);
    }
    if (::ftruncate(made, about.st_size) != 0) return broken(errno, path);
    for (off_t at = 0; at < about.st_size;) {
      off_t data = ::lseek(source, at, SEEK_DATA);
      if (data < 0 && errno == ENXIO) break;  // a hole up to its end
      if (data < 0) data = at;                // this file system tells no holes
      off_t hole = ::lseek(source, data, SEEK_HOLE);
      if (hole < 0) hole = about.st_size;
      hole = std::min(hole, about.st_size);
      if (!piece(source, made, data, hole, path)) return false;
      at = std::max(hole, at + 1);
    }
    return true;
  }

  bool piece(int source, int made, off_t from, off_t to, const std::string& path) {
    while (from < to) {
      const auto want = static_cast<std::size_t>(std::min<off_t>(to - from, kPiece));
      if (!within(size.bytes + want > bounds_.bytes)) return false;
      off_t in = from, out = from;
      ssize_t n = plain_copy_ ? -1 : ::copy_file_range(source, &in, made, &out, want, 0);
      if (n < 0 && !plain_copy_ && (errno == ENOSPC || errno == EDQUOT || errno == EIO))
        return broken(errno, path);
      if (n <= 0) {
        plain_copy_ = true;  // between these file systems, or on this kernel, it cannot be done
        n = by_hand(source, made, from, want, path);
        if (n < 0) return false;
        if (n == 0) break;  // it became shorter
      }
      from += n;
      size.bytes += static_cast<std::uint64_t>(n);
    }
    return true;
  }

  ssize_t by_hand(int source, int made, off_t at, std::size_t want, const std::string& path) {
    buffer_.resize(kPiece);
    const ssize_t got = ::pread(source, buffer_.data(), want, at);
    if (got < 0) return broken(errno, path), -1;
    for (ssize_t put = 0; put < got;) {
      const ssize_t n = ::pwrite(made, buffer_.data() + put, static_cast<std::size_t>(got - put), at + put);
      if (n < 0) return broken(errno, path), -1;
      put += n;
    }
    return got;
  }

  // A link into the folder must lead into the copy, or the copy's run would write to the user's own files.
  bool link(int at, int target, const std::string& name, const std::string& path) {
    std::array<char, PATH_MAX> buffer;
    const ssize_t n = ::readlinkat(at, name.c_str(), buffer.data(), buffer.size());
    if (n < 0) return true;  // gone meanwhile
    std::string says(buffer.data(), static_cast<std::size_t>(n));
    const bool absolute = says.starts_with('/');
    const std::string whole = plain(absolute ? says : joined(joined(real_from_, path), "../" + says));
    for (const std::string& base : {from_, real_from_})
      if (is_below(whole, base)) {
        if (absolute) says = to_ + whole.substr(base.size());
        return make_link(says, target, name, path);
      }
    if (!absolute) says = whole;
    if (may_be_written(says) && size.links_out++ == 0)
      size.first_link_out = joined(from_, path) + " -> " + says;
    return make_link(says, target, name, path);
  }
  bool make_link(const std::string& says, int target, const std::string& name, const std::string& path) {
    return ::symlinkat(says.c_str(), target, name.c_str()) == 0 || broken(errno, path);
  }

  bool like(int made, const struct stat& about, const std::string& path) {
    const std::array<timespec, 2> times{about.st_atim, about.st_mtim};
    if (::fchmod(made, about.st_mode & kModes) != 0 || ::futimens(made, times.data()) != 0)
      return broken(errno, path);
    return true;
  }

  bool within(bool over) {
    if (over) {
      error = Error(ErrorCode::conflict, "the folder is larger than a copy may be");
      size.over = true;
    } else if (Clock::now() >= bounds_.until) {
      error = Error(ErrorCode::timed_out, "the folder could not be copied in time");
      size.time_over = true;
    }
    return !size.over && !size.time_over;
  }
  bool broken(int number, const std::string& path) {
    error = file_error(number, "copy", joined(from_, path));
    return false;
  }
  bool left_out(const struct stat& about, const std::string& path) {
    ++size.left_out;
    if (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode))
      ++size.pipes;
    else if (size.first_left_out.empty())
      size.first_left_out = joined(from_, path);
    return true;
  }
  bool unreadable(const std::string& path) {
    if (size.unreadable++ == 0) size.first_unreadable = joined(from_, path);
    return true;
  }

  std::string from_, real_from_, to_;
  const TreeBounds& bounds_;
  std::map<std::pair<dev_t, ino_t>, std::string> names_;
  std::vector<char> buffer_;
  bool plain_copy_ = false;
};

}  // namespace

Result<TreeSize> copy_tree(const std::string& from, const std::string& to, const TreeBounds& bounds,
                           const Json& mark) {
  Descriptor source = open_folder(AT_FDCWD, from, true);
  struct stat about = {};
  if (!source || ::fstat(source.get(), &about) != 0) return fail(file_error(errno, "read the folder", from));
  char* real = ::realpath(from.c_str(), nullptr);
  const std::string real_from = real == nullptr ? from : real;
  std::free(real);
  if (::mkdir(to.c_str(), 0700) != 0) {
    if (errno == EEXIST) return fail(ErrorCode::conflict, to + " is there already");
    return fail(file_error(errno, "make the folder", to));
  }
  const Descriptor target = open_folder(AT_FDCWD, to);
  Copy copy(plain(from), real_from, to, bounds);
  if (target && !mark.is_null()) {
    if (auto marked = write_mark(to, mark); !marked) {
      (void)remove_tree(to, Clock::now() + std::chrono::minutes(1));
      return fail(std::move(marked.error()));
    }
  }
  if (target && copy.folder(std::move(source), target.get(), "", about.st_dev)) {
    // The folder itself stays writable for its owner: the run is to work in it.
    const std::array<timespec, 2> times{about.st_atim, about.st_mtim};
    (void)::fchmod(target.get(), (about.st_mode & kModes) | 0700);
    (void)::futimens(target.get(), times.data());
    return copy.size;
  }
  if (!target) copy.error = file_error(errno, "open", to);
  (void)remove_tree(to, Clock::now() + std::chrono::minutes(1));
  return fail(std::move(copy.error));
}

}  // namespace sickbay
