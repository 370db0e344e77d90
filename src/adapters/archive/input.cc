// SPDX-License-Identifier: Apache-2.0
#include "adapters/archive/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "adapters/archive/unpack.h"
#include "base/text.h"

namespace sickbay {

struct Input::Impl {
  int fd = -1;
  std::uint64_t size = 0;
  std::string name, compression;

  ~Impl() {
    if (fd > STDIN_FILENO) ::close(fd);
  }
};

Input::Input(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;
std::uint64_t Input::size() const { return impl_->size; }
const std::string& Input::name() const { return impl_->name; }
std::string Input::compression() const { return impl_->compression; }

namespace {

std::string temp_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

Error os_error(int number, const std::string& what) {
  const ErrorCode code = number == ENOENT || number == ENOTDIR ? ErrorCode::not_found
                         : number == EACCES || number == EPERM ? ErrorCode::denied
                         : number == ENOSPC || number == EDQUOT || number == EFBIG
                             ? ErrorCode::storage_full
                             : ErrorCode::storage_broken;
  return Error(code, what).because(std::strerror(number));
}

Error no_room(int number) {
  return os_error(number, fmt::format("cannot unpack into {}", temp_folder()))
      .remedied_by("make room there, or name another folder with TMPDIR");
}

// A file that no folder names: it is gone when it is closed, whatever happens to this process.
Result<int> unnamed_file() {
  const std::string folder = temp_folder();
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {  // a file system or kernel without O_TMPFILE
    std::string path = folder + "/sickbay-XXXXXX";
    fd = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd >= 0) ::unlink(path.c_str());
  }
  if (fd < 0) return fail(no_room(errno));
  return fd;
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(no_room(errno));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

Result<Input> Input::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  const bool standard = path == "-";
  impl->name = standard ? "standard input" : path;
  const std::string shown = standard ? impl->name : quote_for_message(path, 4096);
  impl->fd = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (impl->fd < 0 || ::fstat(impl->fd, &status) != 0)
    return fail(os_error(errno, fmt::format("cannot read {}", shown)));
  if (S_ISDIR(status.st_mode))
    return fail(Error(ErrorCode::bad_input, fmt::format("{} is a folder", shown))
                    .remedied_by("name the files in it"));

  ByteSource source(impl->fd);
  const Packing packing = packing_of(source.peek());
  impl->compression = packing_name(packing);
  // A plain file is read where it is, unless a shell already took a part of it from standard input.
  const auto peeked = static_cast<off_t>(source.peek().size());
  if (packing == Packing::none && source.error() == 0 && S_ISREG(status.st_mode) &&
      ::lseek(impl->fd, 0, SEEK_CUR) == peeked) {
    impl->size = static_cast<std::uint64_t>(status.st_size);
    return Input(std::move(impl));
  }

  // Into a file and not by a pipe: it is read at any place (read_at).
  auto unpacked = unnamed_file();
  if (!unpacked) return fail(std::move(unpacked.error()).in("opening " + shown));
  const int packed = std::exchange(impl->fd, *unpacked);
  Status done = unpack(packing, source, [&](std::string_view bytes) {
    impl->size += bytes.size();
    return write_all(impl->fd, bytes);
  });
  if (!standard) ::close(packed);
  if (source.error() != 0) return fail(os_error(source.error(), fmt::format("cannot read {}", shown)));
  if (done) return Input(std::move(impl));
  if (done.error().code != ErrorCode::bad_input)
    return fail(std::move(done.error()).in("unpacking " + shown));
  return fail(
      Error(ErrorCode::bad_input, fmt::format("{} is truncated or damaged after {} bytes unpacked ({})",
                                              shown, impl->size, impl->compression))
          .because(done.error().cause)
          .remedied_by(fmt::format("get it again; or unpack what can be unpacked, and give that")));
}

Result<std::size_t> Input::read_at(std::uint64_t offset, char* to, std::size_t size) const {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = ::pread(impl_->fd, to + got, size - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return fail(os_error(errno, fmt::format("cannot read {} at byte {}", impl_->name, offset + got)));
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

}  // namespace sickbay
