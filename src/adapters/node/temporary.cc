// SPDX-License-Identifier: Apache-2.0
// temporary_files, clean_temporary: old files of users in a folder such as /tmp.
//
// Both walk by descriptors: no link is followed, no other file system entered, and a folder that somebody
// exchanges for a link while we walk is not left through it.  A file is old when nobody read, wrote, renamed
// or re-owned it for so long.  Files of users who have a job here are theirs, however old.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "adapters/node/families.h"
#include "adapters/node/process_table.h"
#include "base/text.h"

namespace sickbay::node {
namespace {

// Folders within folders: one descriptor is open for each.
constexpr int kDeepest = 64;
constexpr std::int64_t kMostCounted = 20'000;     // entries that a collecting operation looks at
constexpr std::int64_t kMostCleaned = 2'000'000;  // and a repairing one

struct Walk {
  const Call& call;
  std::int64_t older_than;  // seconds since 1970
  std::int64_t first_uid;
  bool remove;
  dev_t device = 0;
  std::set<std::int64_t> busy_users = {};
  std::int64_t seen = 0, most = 0, files = 0, bytes = 0, refused = 0;
  bool cut = false;

  bool is_old(const struct stat& st) const {
    return st.st_atim.tv_sec < older_than && st.st_mtim.tv_sec < older_than && st.st_ctim.tv_sec < older_than;
  }
  bool is_theirs(const struct stat& st) const {
    return st.st_uid >= first_uid && !busy_users.contains(st.st_uid);
  }
  bool stopped() {
    cut = cut || seen >= most || *call.cancelled;
    return cut;
  }

  // Closes `fd`.
  void folder(int fd, int depth) {
    DIR* open = ::fdopendir(fd);
    if (open == nullptr) {
      ::close(fd);
      return;
    }
    while (const dirent* entry = ::readdir(open)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (stopped()) break;
      ++seen;
      one(fd, entry->d_name, depth);
    }
    ::closedir(open);
  }

  void one(int fd, const char* name, int depth) {
    struct stat st {};
    if (::fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_dev != device) return;
    if (S_ISDIR(st.st_mode)) {
      const int below =
          depth < kDeepest ? ::openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
      struct stat opened {};
      if (below >= 0 &&
          (::fstat(below, &opened) != 0 || opened.st_ino != st.st_ino || opened.st_dev != device))
        // It was exchanged between the two calls.
        ::close(below);
      else if (below >= 0)
        folder(below, depth + 1);
      // By its age before we emptied it; what is not empty stays.  Reading it made its access time new.
      const bool old = st.st_mtim.tv_sec < older_than && st.st_ctim.tv_sec < older_than;
      if (remove && old && is_theirs(st) && ::unlinkat(fd, name, AT_REMOVEDIR) == 0) ++files;
      return;
    }
    // Sockets, fifos and devices may be in use without a trace in their times.
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) return;
    if (!is_old(st) || !is_theirs(st)) return;
    if (remove && ::unlinkat(fd, name, 0) != 0) {
      // (ENOENT: somebody else removed it meanwhile.)
      refused += errno != ENOENT;
      return;
    }
    ++files;
    // A file with another name elsewhere frees nothing.
    if (st.st_nlink == 1) bytes += static_cast<std::int64_t>(st.st_blocks) * 512;
  }
};

// Walks; the reason why not, or "".
std::string walk(Walk& w) {
  const std::string& path = w.call.text("path");
  if (!path.starts_with('/')) return fmt::format("{} is no absolute path", quote_for_message(path));
  if (w.call.integer("days") < 1 || w.call.integer("days") > 36'500) return "`days` must be from 1 to 36500";
  const int fd = ::open(w.call.tree->path(path).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat st {};
  if (fd < 0 || ::fstat(fd, &st) != 0) {
    const int wrong = errno;
    if (fd >= 0) ::close(fd);
    return fmt::format("cannot open {}: {}", quote_for_message(path), std::strerror(wrong));
  }
  // What everybody may write and nobody may remove of others: only such folders are temporary.  A path that
  // was misspelt as /home or / has no such bit.
  if (w.remove && (st.st_mode & S_ISVTX) == 0) {
    ::close(fd);
    return fmt::format("{} has no sticky bit: it is no folder of temporary files", quote_for_message(path));
  }
  w.device = st.st_dev;
  if (w.remove) {
    ProcessTable table(*w.call.tree);
    const auto users = table.users_with_jobs();
    if (!users) {
      ::close(fd);
      return users.error().what;
    }
    w.busy_users = *users;
  }
  w.folder(fd, 0);
  return "";
}

Walk make_walk(const Call& call, bool remove) {
  Walk w{.call = call,
         .older_than = to_unix_seconds(call.now) - call.integer("days") * 86'400,
         .first_uid = call.integer("first_uid"),
         .remove = remove};
  w.most = remove ? kMostCleaned : kMostCounted;
  return w;
}

}  // namespace

OperationEnd temporary_files(const Call& call) {
  Walk w = make_walk(call, false);
  if (std::string why = walk(w); !why.empty()) return unknown(std::move(why));
  return found(Json::object({{"temporary_old_files", w.files}, {"temporary_old_size", w.bytes}}),
               w.cut ? fmt::format("stopped after {} entries: there may be more", w.seen) : "");
}

OperationEnd clean_temporary(const Call& call) {
  Walk w = make_walk(call, true);
  if (std::string why = walk(w); !why.empty()) return unknown(std::move(why));
  Json out = Json::object({{"files_removed", w.files}, {"space_freed", w.bytes}});
  std::string text = fmt::format("removed {} files and folders from {}", w.files, call.text("path"));
  if (w.cut) text += fmt::format(", and stopped after {} entries", w.seen);
  if (w.refused == 0) return found(std::move(out), std::move(text));
  return failed(std::move(out), text + fmt::format("; {} could not be removed", w.refused));
}

}  // namespace sickbay::node
