// SPDX-License-Identifier: Apache-2.0
// Memory: what was written comes back; and how fast it comes.
//
// Each pattern is written over the whole area before any of it is read, so that with an area larger than the
// last cache the words come back from memory.  The first wrong word is reported with its offset and bits.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "beat.h"
#include "meminfo.h"
#include "phases.h"
#include "seconds.h"
#include "turn.h"

namespace sickbay::verify {
namespace {

/// Keeps the compiler from believing that it knows what memory holds.
void forget_memory() { asm volatile("" ::: "memory"); }

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* area) const { ::munmap(area, bytes); }
};
using Area = std::unique_ptr<void, Unmap>;

Area map_area(std::size_t bytes) {
  void* area =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return Area(area == MAP_FAILED ? nullptr : area, Unmap{bytes});
}

/// What of `wanted` may be taken without harm: half of what is free and half of the job's own request, since
/// a verification that is killed for its memory would say something untrue about the node.
std::uint64_t allowed_memory(std::uint64_t wanted) {
  if (const std::uint64_t free = meminfo_bytes("MemAvailable")) wanted = std::min(wanted, free / 2);
  if (const char* text = std::getenv("SLURM_MEM_PER_NODE"); text && std::atoll(text) > 0)
    wanted = std::min<std::uint64_t>(wanted, static_cast<std::uint64_t>(std::atoll(text)) * kMiB / 2);
  return wanted;
}

/// splitmix64: any word of the random pattern from its index alone, so that no copy is needed to compare
/// with.
std::uint64_t random_word(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

struct Pattern {
  std::string_view name;
  std::uint64_t (*word)(std::uint64_t index);
  int readings;  ///< a second reading finds words that do not stay
};

constexpr Pattern kPatterns[] = {
    {"walking ones", [](std::uint64_t i) { return std::uint64_t{1} << (i % 64); }, 1},
    {"walking zeros", [](std::uint64_t i) { return ~(std::uint64_t{1} << (i % 64)); }, 1},
    {"address in address", [](std::uint64_t i) { return i; }, 1},
    {"random", random_word, 2},
};

struct Misread {
  std::uint64_t count = 0, first = 0, got = 0, wanted = 0;
};

Misread run_pattern(const Pattern& pattern, std::uint64_t* words, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) words[i] = pattern.word(i);
  Misread bad;
  for (int reading = 0; reading < pattern.readings; ++reading) {
    forget_memory();
    tick();
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t got = words[i], wanted = pattern.word(i);
      if (got != wanted && bad.count++ == 0) bad = {1, i, got, wanted};
    }
  }
  return bad;
}

}  // namespace

Finding memory_phase(const Options& options) {
  Finding found{.phase = "memory", .unit = "MiB"};
  const std::uint64_t bytes = allowed_memory(options.memory) / kMiB * kMiB;
  found.value = static_cast<double>(bytes / kMiB);
  constexpr std::uint64_t kLeast = 16 * kMiB;
  if (bytes < std::min(options.memory, kLeast)) {
    found.slow = true;
    found.detail = fmt::format("only {} MiB of memory are free", meminfo_bytes("MemAvailable") / kMiB);
    return found;
  }
  const Area area = map_area(bytes);
  if (!area) {
    found.slow = true;
    found.detail = fmt::format("the kernel gives no {} MiB of memory", bytes / kMiB);
    return found;
  }
  auto* words = static_cast<std::uint64_t*>(area.get());
  for (const Pattern& pattern : kPatterns) {
    const Misread bad = run_pattern(pattern, words, bytes / sizeof *words);
    if (bad.count == 0) continue;
    found.ok = false;
    found.detail = fmt::format(
        "{} words of pattern '{}' came back wrong, the first at offset {:#x}: {:#018x} for {:#018x}",
        bad.count, pattern.name, bad.first * sizeof *words, bad.got, bad.wanted);
    return found;
  }
  return found;
}

Finding membw_phase(const Options& options) {
  Finding found{.phase = "membw", .unit = "MB/s"};
  const std::uint64_t bytes = allowed_memory(options.membw);
  const std::size_t count = bytes / 3 / sizeof(double);
  const Turn turn(options.turn_wait);
  const Area area = map_area(3 * count * sizeof(double));
  if (!area || count == 0) {
    found.slow = true;
    found.detail = fmt::format("the kernel gives no {} MiB of memory", bytes / kMiB);
    return found;
  }
  double* a = static_cast<double*>(area.get());
  double* b = a + count;
  double* c = b + count;
  for (std::size_t i = 0; i < count; ++i) {
    b[i] = static_cast<double>(i % 1024);
    c[i] = static_cast<double>(i % 256);
  }
  constexpr int kRounds = 8;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double scale = round + 1;
    const double begun = thread_seconds();  // (waiting for memory is running; waiting for others is not)
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + scale * c[i];
    forget_memory();
    best = std::min(best, thread_seconds() - begun);
    tick();
  }
  found.value = 3.0 * static_cast<double>(count) * sizeof(double) / best * 1e-6;
  // Small whole numbers are exact in a double: equality is right here.
  for (std::size_t i = 0; i < count; ++i) {
    const double wanted = static_cast<double>(i % 1024) + kRounds * static_cast<double>(i % 256);
    if (a[i] == wanted) continue;
    found.ok = false;
    found.detail = fmt::format("element {} of the triad is {}, should be {}", i, a[i], wanted);
    break;
  }
  return found;
}

}  // namespace sickbay::verify
