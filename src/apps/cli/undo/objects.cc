// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/undo/objects.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <functional>

#include "adapters/posix/files.h"
#include "base/descriptor.h"
#include "base/digest/sha256.h"
#include "base/text.h"

namespace sickbay::cli {
namespace {

constexpr unsigned kFolderMode = 0700, kObjectMode = 0600;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

int sync_parent(const std::string& path) {
  const Descriptor fd(::open(parent_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0 ? 0 : errno;
}

// All bytes of `from`, to `to` where that is there; their digest.
Result<std::string> pour(int from, int to, const std::string& from_name, const std::string& to_name) {
  Sha256 sum;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n == 0) return sum.hex();
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(file_error(errno, "read", from_name));
    sum.add({buffer.data(), static_cast<std::size_t>(n)});
    for (ssize_t at = 0; to >= 0 && at < n;) {
      const ssize_t wrote = ::write(to, buffer.data() + at, static_cast<std::size_t>(n - at));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return fail(file_error(errno, "write", to_name));
      at += wrote;
    }
  }
}

// A new file beside `path`, which `fill` fills; renamed to what `fill` answers, else removed again.
Result<std::string> write_beside(const std::string& path, unsigned mode,
                                 const std::function<Result<std::string>(int, const std::string&)>& fill) {
  std::string beside = path + ".XXXXXX";
  // In the same folder, so that the rename is one step of one file system.
  const Descriptor fd(::mkostemp(beside.data(), O_CLOEXEC));
  if (!fd) return fail(file_error(errno, "create a file beside", path));
  Result<std::string> name = fill(fd.get(), beside);
  const auto wrong = [&](std::string_view doing) {
    if (name) name = fail(file_error(errno, doing, beside));
  };
  if (name && ::fchmod(fd.get(), mode) != 0) wrong("set the mode of");
  // The contents before the name, and then the folder: after a crash the name never stands for half a file.
  if (name && ::fsync(fd.get()) != 0) wrong("sync");
  if (name && ::rename(beside.c_str(), name->c_str()) != 0) wrong("rename");
  if (!name) {
    ::unlink(beside.c_str());
    return name;
  }
  if (const int code = sync_parent(*name); code != 0)
    return fail(file_error(code, "sync the folder of", *name));
  return name;
}

bool same_moment(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

Status make_own_folder(const std::string& path) {
  if (auto made = make_folder(path, kFolderMode); !made) return made;
  struct stat about = {};
  // lstat: a link that somebody else has put there is no folder of ours.
  if (::lstat(path.c_str(), &about) != 0) return fail(file_error(errno, "look at", path));
  if (S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() && (about.st_mode & 077) == 0) return {};
  return fail(
      Error(ErrorCode::denied, fmt::format("{} is no folder of yours alone", path))
          .because("what is kept there may hold keys (the environment of a job), and is put back unseen")
          .remedied_by("move it away, or make it yours alone (chmod 700)"));
}

}  // namespace

std::string Objects::path_of(const std::string& digest) const {
  return fmt::format("{}/objects/{}/{}", folder_, digest.substr(0, 2),
                     digest.size() > 2 ? digest.substr(2) : "");
}

Status Objects::make() const {
  for (const std::string& path : {folder_, folder_ + "/objects", folder_ + "/records"})
    if (auto made = make_own_folder(path); !made) return made;
  return {};
}

Result<std::string> Objects::keep_file(const std::string& path) const {
  // O_NONBLOCK: a fifo of that name would hold us up for ever.
  const Descriptor from(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat before = {}, after = {};
  if (!from || ::fstat(from.get(), &before) != 0) return fail(file_error(errno, "read", path));
  if (!S_ISREG(before.st_mode)) return fail(ErrorCode::bad_input, path + " is no regular file");
  // Most are kept already: then reading is enough.
  auto digest = pour(from.get(), -1, path, "");
  if (!digest) return digest;
  if (check(*digest)) return digest;
  if (auto made = make_own_folder(parent_of(path_of(*digest))); !made) return fail(made.error());
  if (::lseek(from.get(), 0, SEEK_SET) != 0) return fail(file_error(errno, "read", path));
  auto kept = write_beside(
      path_of(*digest), kObjectMode, [&](int to, const std::string& name) -> Result<std::string> {
        auto poured = pour(from.get(), to, path, name);
        if (!poured) return poured;
        // Read twice, so it may have changed in between; and a file that is being written has another time.
        if (*poured == *digest && ::fstat(from.get(), &after) == 0 && same_moment(before, after))
          return path_of(*digest);
        return fail(Error(ErrorCode::conflict, path + " changed while it was kept")
                        .remedied_by("wait for what writes to it, and try again"));
      });
  if (!kept) return kept;
  return digest;
}

Result<std::string> Objects::keep_text(std::string_view text) const {
  const std::string digest = sha256_hex(text);
  if (check(digest)) return digest;
  if (auto made = make_own_folder(parent_of(path_of(digest))); !made) return fail(made.error());
  if (auto written = write_durably(path_of(digest), text, kObjectMode); !written)
    return fail(written.error());
  return digest;
}

Status Objects::check(const std::string& digest) const {
  const std::string path = path_of(digest);
  const Descriptor from(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!from && errno == ENOENT)
    return fail(
        Error(ErrorCode::not_found, fmt::format("the contents {} were not kept", digest.substr(0, 12)))
            .because("there is no " + path));
  if (!from) return fail(file_error(errno, "read", path));
  auto poured = pour(from.get(), -1, path, "");
  if (!poured) return fail(poured.error());
  if (*poured == digest) return {};
  return fail(Error(ErrorCode::conflict, fmt::format("{} is damaged", path))
                  .because("its contents are not those of its name")
                  .remedied_by("take the file from a backup; what is damaged is never put back"));
}

Result<std::string> Objects::read(const std::string& digest, std::size_t limit) const {
  auto text = read_file(path_of(digest), limit);
  if (!text && text.error().code == ErrorCode::not_found) return fail(check(digest).error());
  if (text && sha256_hex(*text) != digest) return fail(check(digest).error());
  return text;
}

Status Objects::put_back(const std::string& digest, const std::string& path, unsigned mode) const {
  const Descriptor from(::open(path_of(digest).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!from) return check(digest);
  std::string target = path;
  // Where the path is a link the rename would replace the link, and not what it leads to.
  if (char* real = ::realpath(path.c_str(), nullptr); real != nullptr) {
    target = real;
    std::free(real);
  }
  auto written =
      write_beside(target, mode & 0777, [&](int to, const std::string& name) -> Result<std::string> {
        auto poured = pour(from.get(), to, path_of(digest), name);
        if (!poured) return poured;
        if (*poured != digest) return fail(check(digest).error());
        return target;
      });
  if (!written) return fail(written.error());
  return {};
}

}  // namespace sickbay::cli
