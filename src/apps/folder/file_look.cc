// SPDX-License-Identifier: Apache-2.0
#include "apps/folder/file_look.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "adapters/posix/files.h"
#include "base/digest/sha256.h"

namespace sickbay {
namespace {

Result<std::string> digest_of(int fd, const std::string& path) {
  Sha256 sum;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n == 0) return sum.hex();
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(file_error(errno, "read", path));
    sum.add({buffer.data(), static_cast<std::size_t>(n)});
  }
}

}  // namespace

Result<InputFile> look_at_file(const std::string& path, std::uint64_t digest_bound) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return fail(file_error(errno, "read", path));
  struct stat about = {};
  InputFile file;
  file.path = path;
  Result<std::string> digest = std::string();
  if (::fstat(fd, &about) != 0) {
    digest = fail(file_error(errno, "look at", path));
  } else if (!S_ISREG(about.st_mode)) {
    digest = fail(ErrorCode::bad_input, path + " is no regular file");
  } else {
    file.size = static_cast<std::uint64_t>(about.st_size);
    file.program = (about.st_mode & 0111) != 0;
    file.mtime = from_micros(std::int64_t{about.st_mtim.tv_sec} * 1'000'000 + about.st_mtim.tv_nsec / 1000);
    if (file.size <= digest_bound) digest = digest_of(fd, path);
  }
  ::close(fd);
  if (!digest) return fail(std::move(digest.error()));
  file.digest = std::move(*digest);
  return file;
}

}  // namespace sickbay
