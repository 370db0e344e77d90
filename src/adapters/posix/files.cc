// SPDX-License-Identifier: Apache-2.0
// Files that must outlast a power cut.  See files.h.
//
// A name is durable only when its folder has been synced, and bytes only when their file has; the rename
// between the two is what makes a write all or nothing.
#include "adapters/posix/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sickbay {
namespace {

// Returns 0 or the errno of the write that failed.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Makes the entries of `folder` durable: returns 0 or an errno.
int sync_folder(const std::string& folder) {
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0 ? 0 : errno;
}

}  // namespace

Error file_error(int errno_value, std::string_view doing, const std::string& path) {
  ErrorCode code = ErrorCode::storage_broken;
  if (errno_value == ENOSPC || errno_value == EDQUOT)
    code = ErrorCode::storage_full;
  else if (errno_value == ENOENT || errno_value == ENOTDIR)
    code = ErrorCode::not_found;
  else if (errno_value == EACCES || errno_value == EPERM)
    code = ErrorCode::denied;
  return Error(code, fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno_value)));
}

Status write_durably(const std::string& path, std::string_view bytes, unsigned mode) {
  // A fixed name, so that what a crash leaves is overwritten by the next try.
  const std::string temporary = path + ".new";
  {
    const Descriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file) return fail(file_error(errno, "create", temporary));
    int wrong = write_all(file.get(), bytes);
    // (open() has cut the mode by the umask.)
    if (wrong == 0 && ::fchmod(file.get(), mode) != 0) wrong = errno;
    if (wrong == 0 && ::fsync(file.get()) != 0) wrong = errno;
    if (wrong != 0) {
      ::unlink(temporary.c_str());
      return fail(file_error(wrong, "write", temporary));
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int wrong = errno;
    ::unlink(temporary.c_str());
    return fail(file_error(wrong, "rename a file to", path));
  }
  if (const int wrong = sync_folder(folder_of(path)); wrong != 0)
    return fail(file_error(wrong, "sync the folder of", path));
  return {};
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(file_error(errno, "open", path));
  std::string text;
  char block[65536];
  for (;;) {
    const ssize_t n = ::read(file.get(), block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(file_error(errno, "read", path));
    if (n == 0) return text;
    text.append(block, static_cast<std::size_t>(n));
    if (text.size() > limit)
      return fail(ErrorCode::bad_input, fmt::format("{} is longer than {} bytes", path, limit));
  }
}

Result<std::string> read_tail(const std::string& path, std::size_t bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a FIFO must not hold us
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return fail(file_error(errno, "open", path));
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::storage_broken, fmt::format("cannot read {}: it is no regular file", path));
  std::string text(std::min(bytes, static_cast<std::size_t>(info.st_size)), '\0');
  // From the size of this moment on: a file that grows meanwhile does not move under us.
  auto offset = info.st_size - static_cast<off_t>(text.size());
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n = ::pread(file.get(), text.data() + got, text.size() - got, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(file_error(errno, "read", path));
    if (n == 0) break;  // it has been cut meanwhile
    got += static_cast<std::size_t>(n);
    offset += n;
  }
  text.resize(got);
  return text;
}

Status make_folder(const std::string& path, unsigned mode) {
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at < path.size() && path[at] != '/') continue;
    const std::string part = path.substr(0, at);
    const bool last = at == path.size();
    if (::mkdir(part.c_str(), last ? mode : 0755) == 0) {
      if (const int wrong = sync_folder(folder_of(part)); wrong != 0)
        return fail(file_error(wrong, "sync the folder of", part));
    } else if (errno != EEXIST) {
      return fail(file_error(errno, "make the folder", part));
    }
  }
  // EEXIST may have been a file.
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return fail(file_error(ENOTDIR, "use as a folder", path));
  return {};
}

Descriptor memory_file(std::string_view bytes) {
  Descriptor file(::memfd_create("sickbay", MFD_CLOEXEC));
  if (!file) return file;
  if (const int wrong = write_all(file.get(), bytes); wrong != 0) {
    errno = wrong;
    return {};
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

}  // namespace sickbay
