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

constexpr double mb_of(std::uint64_t blocks) { return static_cast<double>(blocks * kBlock) * 1e-6; }

/// The file on the disk that is looked at, and what was found of it.
class DiskLook {
 public:
  DiskLook(Finding& found, const std::string& folder)
      : found_(found), folder_(folder), fd_(open_unnamed(folder)) {
    if (fd_ < 0) broken("make a file");
  }
  DiskLook(const DiskLook&) = delete;
  DiskLook& operator=(const DiskLook&) = delete;
  ~DiskLook() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// Writes and syncs so many blocks; fewer where the disk stands still.
  void write(std::uint64_t blocks) {
    Stopwatch watch;
    while (found_.ok && written_ < blocks && !stood_still(mb_of(written_), watch.seconds())) {
      for (const auto until = next_sync(written_, blocks, watch.seconds()); found_.ok && written_ < until;
           ++written_) {
        tick();
        fill_block(block_, written_);
        if (!transfer(::pwrite, fd_, reinterpret_cast<const char*>(block_.data()), kBlock, written_ * kBlock))
          broken("write");
      }
      tick();
      if (found_.ok && ::fsync(fd_) != 0) broken("sync");
    }
    found_.value = mb_of(written_) / watch.seconds();
    if (found_.ok) judge_pace(found_, watch.pace(mb_of(written_)), "write and sync");
  }

  /// Reads back what was written, from the device itself; less where it stands still.
  void read_back() {
    // (Pages that are clean now are dropped.)
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    std::vector<std::uint64_t> read(block_.size());
    Stopwatch watch;
    std::uint64_t k = 0;
    for (; found_.ok && k < written_ && !stood_still(mb_of(k), watch.seconds()); ++k) {
      tick();
      fill_block(block_, k);
      if (!transfer(::pread, fd_, reinterpret_cast<char*>(read.data()), kBlock, k * kBlock))
        broken("read back");
      else if (read != block_)
        differs(k, read);
    }
    if (!found_.ok) return;
    found_.also = {{"read_mb_s", mb_of(k) / watch.seconds()}};
    judge_pace(found_, watch.pace(mb_of(k)), "read back");
  }

 private:
  void broken(const char* doing) {
    found_.ok = false;
    found_.detail = fmt::format("cannot {} in {}: {}", doing, folder_, std::strerror(errno));
  }
  void differs(std::uint64_t k, const std::vector<std::uint64_t>& read) {
    const auto at = std::mismatch(block_.begin(), block_.end(), read.begin()).first - block_.begin();
    found_.ok = false;
    found_.detail = fmt::format("byte {} read back differs from what was written in {}",
                                k * kBlock + static_cast<std::uint64_t>(at) * sizeof(std::uint64_t), folder_);
  }

  Finding& found_;
  const std::string& folder_;
  int fd_;
  std::vector<std::uint64_t> block_ = std::vector<std::uint64_t>(kBlock / sizeof(std::uint64_t));
  std::uint64_t written_ = 0;
};

}  // namespace

Finding disk_phase(const Options& options) {
  Finding found{.phase = "disk", .unit = "MB/s"};
  DiskLook disk(found, options.disk_folder);
  if (found.ok) disk.write(std::max<std::uint64_t>(1, options.disk / kBlock));
  // From a disk that stands still no more is wanted than shows that: who waits for V has waited half a
  // minute.
  if (found.ok && !found.crawls) disk.read_back();
  return found;
}

}  // namespace sickbay::verify
