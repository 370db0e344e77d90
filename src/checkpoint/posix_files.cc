// SPDX-License-Identifier: Apache-2.0
// Files on POSIX calls.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/descriptor.h"
#include "checkpoint/files.h"

namespace sickbay::checkpoint {
namespace {

// Dirty bytes that wait in memory before the kernel is told to write them out: the disk then works while the
// next chunks are cut, and the sync at the end has little left to do.
constexpr std::uint64_t kWriteBehind = 4 << 20;

tl::unexpected<Error> broken(int errno_value, std::string_view doing, const std::string& path) {
  // EFBIG (a limit of the user, ulimit -f) and EDQUOT are for him what a full disk is.
  ErrorCode code = ErrorCode::storage_broken;
  if (errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG) code = ErrorCode::storage_full;
  if (errno_value == ENOENT || errno_value == ENOTDIR) code = ErrorCode::not_found;
  if (errno_value == EACCES || errno_value == EPERM) code = ErrorCode::denied;
  return fail(code, fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno_value)));
}

class PosixIn : public InFile {
 public:
  PosixIn(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> out) override {
    std::size_t got = 0;
    while (got < out.size()) {
      const ssize_t n =
          ::pread(fd_.get(), out.data() + got, out.size() - got, static_cast<off_t>(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return broken(errno, "read", path_);
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    return got;
  }

  Result<FileState> state() override {
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) return broken(errno, "look at", path_);
    return FileState{static_cast<std::uint64_t>(info.st_size),
                     std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec,
                     static_cast<std::uint32_t>(info.st_mode & 0777)};
  }

 private:
  Descriptor fd_;
  std::string path_;
};

class PosixOut : public OutFile {
 public:
  PosixOut(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Status append(std::string_view bytes) override {
    const std::uint64_t at = end_;
    end_ += bytes.size();
    if (auto wrote = write_at(at, bytes); !wrote) return wrote;
#ifdef SYNC_FILE_RANGE_WRITE
    if (end_ - told_ >= kWriteBehind) {
      // (A hint: where the file system knows it not, sync() does all.)
      (void)::sync_file_range(fd_.get(), static_cast<off_t>(told_), static_cast<off_t>(end_ - told_),
                              SYNC_FILE_RANGE_WRITE);
      told_ = end_;
    }
#endif
    return {};
  }

  Status write_at(std::uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return broken(errno, "write", path_);
      bytes.remove_prefix(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  Status sync() override {
    if (::fsync(fd_.get()) != 0) return broken(errno, "sync", path_);
    return {};
  }

 private:
  Descriptor fd_;
  std::string path_;
  std::uint64_t end_ = 0;
  std::uint64_t told_ = 0;
};

class PosixLock : public FileLock {
 public:
  explicit PosixLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;
};

class PosixFiles : public Files {
 public:
  Result<std::unique_ptr<OutFile>> create(const std::string& path, std::uint32_t mode) override {
    // O_NOFOLLOW: a link in a folder that others may write to must not lead us to another file.
    // O_TRUNC: a crash may have left one that is half made.
    Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!fd) return broken(errno, "create", path);
    // The mode of open() is cut by the umask, and of a file that was there it is not used at all.
    if (::fchmod(fd.get(), mode) != 0) return broken(errno, "create", path);
    return std::make_unique<PosixOut>(std::move(fd), path);
  }

  Result<std::unique_ptr<InFile>> open(const std::string& path) override {
    Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a FIFO must not hold us
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0) return broken(errno, "open", path);
    if (!S_ISREG(info.st_mode))
      return fail(ErrorCode::storage_broken, fmt::format("cannot open {}: it is no regular file", path));
    return std::make_unique<PosixIn>(std::move(fd), path);
  }

  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return broken(errno, "rename a file to", to);
    return {};
  }

  Status remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return broken(errno, "remove", path);
    return {};
  }

  Status sync_folder(const std::string& folder) override {
    const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) return broken(errno, "sync the folder", folder);
    return {};
  }

  Status make_folder(const std::string& path) override {
    for (std::size_t at = 1; at <= path.size(); ++at) {
      if (at < path.size() && path[at] != '/') continue;
      const std::string part = path.substr(0, at);
      // One folder after the other from the root, each made durable in the one above it: else a crash could
      // take the folder with the checkpoint in it.
      if (::mkdir(part.c_str(), 0700) == 0) {
        const std::size_t slash = part.rfind('/', part.size() - 2);
        const std::string above =
            slash == std::string::npos ? "." : part.substr(0, std::max<std::size_t>(slash, 1));
        if (auto synced = sync_folder(above); !synced) return synced;
      } else if (errno != EEXIST) {
        return broken(errno, "make the folder", part);
      }
    }
    return {};
  }

  Result<std::vector<std::string>> list(const std::string& folder) override {
    std::error_code wrong;
    std::vector<std::string> names;
    auto entry = std::filesystem::directory_iterator(folder, wrong);
    for (; !wrong && entry != std::filesystem::directory_iterator(); entry.increment(wrong))
      names.push_back(entry->path().filename().string());
    if (wrong) return broken(wrong.value(), "list", folder);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) return broken(errno, "open", path);
    // flock and not fcntl: it is let go only when this descriptor is closed, not when any other one of the
    // same file is.
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return broken(errno, "lock", path);
      return fail(Error(ErrorCode::busy, fmt::format("another process works on {}", path))
                      .remedied_by("wait until the checkpoint that is being taken has ended"));
    }
    return std::make_unique<PosixLock>(std::move(fd));
  }
};

}  // namespace

std::unique_ptr<Files> make_posix_files() { return std::make_unique<PosixFiles>(); }

Result<std::string> read_whole(Files& files, const std::string& path, std::size_t limit) {
  auto file = files.open(path);
  if (!file) return tl::unexpected<Error>(std::move(file.error()));
  const auto state = (*file)->state();
  if (!state) return tl::unexpected<Error>(state.error());
  if (state->size > limit)
    return fail(Error(ErrorCode::bad_input, fmt::format("{} is longer than {} bytes", path, limit))
                    .remedied_by("remove it: it is nothing that Sickbay wrote"));
  std::string bytes(state->size, '\0');
  const auto got = (*file)->read_at(0, bytes);
  if (!got) return tl::unexpected<Error>(got.error());
  bytes.resize(*got);
  return bytes;
}

Status write_whole(Files& files, const std::string& folder, const std::string& name, std::string_view bytes) {
  const std::string path = folder + "/" + name, temporary = path + ".new";
  // Beside, synced, renamed: after a crash there is the old one or the new one, and nothing in between.
  const auto all = [&]() -> Status {
    auto file = files.create(temporary, 0600);
    if (!file) return tl::unexpected<Error>(std::move(file.error()));
    if (auto wrote = (*file)->append(bytes); !wrote) return wrote;
    if (auto synced = (*file)->sync(); !synced) return synced;
    return files.rename(temporary, path);
  };
  if (auto done = all(); !done) {
    (void)files.remove(temporary);
    return done;
  }
  // The new name is durable only when its folder is.
  return files.sync_folder(folder);
}

}  // namespace sickbay::checkpoint
