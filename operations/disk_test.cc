// SPDX-License-Identifier: Apache-2.0
// disk_test: writes a file, syncs it, reads it back past the cache and compares (src/model/builtin_acts.cc).
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "operation.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBlock = std::size_t{1} << 20;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

// Differs by block and by word, and from run to run: what an old file left must not pass for ours.
void fill(std::uint64_t* words, std::uint64_t seed) {
  for (std::size_t i = 0; i < kBlock / 8; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    words[i] = seed;
  }
}

[[noreturn]] void give_up(const std::string& doing, const std::string& where) {
  operation::unknown(fmt::format("cannot {} in {}: {}", doing, where, std::strerror(errno)));
}

}  // namespace

int main() {
  const auto asked = operation::request();
  const std::string folder = asked["arguments"]["path"].as_string();
  const std::string depth = asked["arguments"]["depth"].as_string();
  if (!folder.starts_with('/') || (depth != "quick" && depth != "deep"))
    operation::unknown("`path` must be absolute, and `depth` quick or deep");
  const std::int64_t blocks = depth == "quick" ? 4 : 256;

  std::string name = folder + "/.sickbay-disk-test-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) give_up("write a file", folder);
  // Gone at once: however this ends, nothing is left.  It is opened again by its descriptor.
  ::unlink(name.c_str());
  const std::unique_ptr<std::uint64_t, void (*)(void*)> wrote(
      static_cast<std::uint64_t*>(std::aligned_alloc(4096, kBlock)), std::free);
  const std::unique_ptr<std::uint64_t, void (*)(void*)> read(
      static_cast<std::uint64_t*>(std::aligned_alloc(4096, kBlock)), std::free);
  const auto seed = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());

  const auto small = Clock::now();
  if (::pwrite(file, wrote.get(), 4096, 0) != 4096 || ::fdatasync(file) != 0) give_up("write", folder);
  const double sync_time = seconds_since(small);

  const auto writing = Clock::now();
  for (std::int64_t b = 0; b < blocks; ++b) {
    fill(wrote.get(), seed + static_cast<std::uint64_t>(b));
    const ssize_t n = ::pwrite(file, wrote.get(), kBlock, b * static_cast<off_t>(kBlock));
    if (n != static_cast<ssize_t>(kBlock)) {
      if (n >= 0) errno = ENOSPC;
      give_up("write", folder);
    }
  }
  if (::fdatasync(file) != 0) give_up("sync", folder);
  const double write_time = seconds_since(writing);

  // Past the cache where the file system can (not tmpfs), else with its pages given up.
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  int direct = ::open(fmt::format("/proc/self/fd/{}", file).c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (direct < 0) direct = file;
  std::int64_t errors = 0;
  double read_time = 0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const auto one = Clock::now();
    const ssize_t n = ::pread(direct, read.get(), kBlock, b * static_cast<off_t>(kBlock));
    read_time += seconds_since(one);
    if (n < 0 && errno != EIO) give_up("read", folder);
    fill(wrote.get(), seed + static_cast<std::uint64_t>(b));
    errors += n != static_cast<ssize_t>(kBlock) || std::memcmp(wrote.get(), read.get(), kBlock) != 0;
  }
  const double bytes = static_cast<double>(blocks) * static_cast<double>(kBlock);
  auto found = sickbay::Json::object({{"disk_test_errors", errors},
                                      {"disk_write_rate", static_cast<std::int64_t>(bytes / write_time)},
                                      {"disk_read_rate", static_cast<std::int64_t>(bytes / read_time)},
                                      {"disk_sync_time", sync_time}});
  if (errors > 0) operation::fault(found, fmt::format("{} of {} blocks came back wrong", errors, blocks));
  operation::ok(found);
}
