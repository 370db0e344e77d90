// SPDX-License-Identifier: Apache-2.0
// The disk: what was synced comes back.  The file has no name from its first moment on, so that a rank that
// is killed leaves nothing behind.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "beat.h"
#include "disk_pace.h"
#include "meminfo.h"
#include "phases.h"
#include "seconds.h"

namespace sickbay::verify {
namespace {

constexpr std::size_t kBlock = 256 * 1024;

/// A file without a name in `folder`; -1 and errno when that fails.  Not all file systems know O_TMPFILE.
int open_unnamed(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string path = folder + "/sickbay-verify.XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

void fill_block(std::vector<std::uint64_t>& block, std::uint64_t number) {
  std::uint64_t x = number * 0x9e3779b97f4a7c15ULL + 1;
  for (std::uint64_t& word : block) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    word = x;
  }
}

/// Whole transfers only; false and errno otherwise (a file that ends early is EIO).
template <class Call, class Bytes>
bool transfer(Call call, int fd, Bytes* bytes, std::size_t size, std::uint64_t offset) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = call(fd, bytes + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

/// What is done to a disk from now on.
class Stopwatch {
 public:
  double seconds() const { return seconds_now() - begun_; }
  Pace pace(double mb) { return {mb, seconds(), std::max(unwritten_, unwritten_mb())}; }

 private:
  static double unwritten_mb() {
    return static_cast<double>(meminfo_bytes("Dirty") + meminfo_bytes("Writeback")) * 1e-6;
  }
  double unwritten_ = unwritten_mb(), begun_ = seconds_now();
};

}  // namespace

Finding disk_phase(const Options& options) {
  Finding found{.phase = "disk", .unit = "MB/s"};
  const auto broken = [&](const char* doing) {
    found.ok = false;
    found.detail = fmt::format("cannot {} in {}: {}", doing, options.disk_folder, std::strerror(errno));
  };
  const int fd = open_unnamed(options.disk_folder);
  if (fd < 0) {
    broken("make a file");
    return found;
  }
  std::vector<std::uint64_t> block(kBlock / sizeof(std::uint64_t)), read(block.size());
  const std::uint64_t blocks = std::max<std::uint64_t>(1, options.disk / kBlock);
  const auto mb = [](std::uint64_t so_many) { return static_cast<double>(so_many * kBlock) * 1e-6; };
  Stopwatch writing;
  bool going = true;
  for (std::uint64_t k = 0; going && k < blocks; ++k) {
    tick();
    fill_block(block, k);
    going = transfer(::pwrite, fd, reinterpret_cast<const char*>(block.data()), kBlock, k * kBlock);
  }
  if (!going) broken("write");
  if (going && ::fsync(fd) != 0) broken("sync"), going = false;
  found.value = mb(blocks) / writing.seconds();
  if (going) judge_pace(found, writing.pace(mb(blocks)), "write and sync");
  // Pages that are clean now are dropped, so that the device itself answers.
  if (going) ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  // From a disk that stands still no more is read than shows that: who waits for V has waited half a minute.
  Stopwatch reading;
  std::uint64_t k = 0;
  for (; going && k < blocks && !stood_still(mb(k), reading.seconds()); ++k) {
    tick();
    fill_block(block, k);
    going = transfer(::pread, fd, reinterpret_cast<char*>(read.data()), kBlock, k * kBlock);
    if (!going) {
      broken("read back");
    } else if (read != block) {
      const auto at = std::mismatch(block.begin(), block.end(), read.begin()).first - block.begin();
      found.ok = going = false;
      found.detail = fmt::format("byte {} read back differs from what was written in {}",
                                 k * kBlock + static_cast<std::uint64_t>(at) * sizeof(std::uint64_t),
                                 options.disk_folder);
    }
  }
  if (going) {
    found.also = {{"read_mb_s", mb(k) / reading.seconds()}};
    judge_pace(found, reading.pace(mb(k)), "read back");
  }
  ::close(fd);
  return found;
}

}  // namespace sickbay::verify
