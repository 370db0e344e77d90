// SPDX-License-Identifier: Apache-2.0
// memory_test: writes patterns into memory and reads them back (src/model/builtin_acts.cc says what it
// takes).
//
// Each word is written with a pattern, read, written with its complement and read in the other direction: as
// a march test finds stuck bits, and neighbours that change each other.  The last pattern is the word's own
// address, which finds lines of the address bus that are stuck.  What it cannot do: choose the module.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdint>
#include <initializer_list>

#include "operation.h"

namespace {

using Word = volatile std::uint64_t;

// Errors in one round of `pattern`, which may differ by word.
template <class Pattern>
std::int64_t march(Word* words, std::size_t count, Pattern pattern) {
  std::int64_t errors = 0;
  for (std::size_t i = 0; i < count; ++i) words[i] = pattern(i);
  for (std::size_t i = 0; i < count; ++i) {
    errors += words[i] != pattern(i);
    words[i] = ~pattern(i);
  }
  for (std::size_t i = count; i-- > 0;) {
    errors += words[i] != ~pattern(i);
    words[i] = pattern(i);
  }
  for (std::size_t i = 0; i < count; ++i) errors += words[i] != pattern(i);
  return errors;
}

}  // namespace

int main() {
  const auto asked = operation::request();
  const std::int64_t size = asked["arguments"]["size"].as_int(33'554'432);
  const std::int64_t passes = asked["arguments"]["passes"].as_int(1);
  if (size < 4096 || passes < 1 || passes > 1000)
    operation::unknown("`size` must be 4096 or more, `passes` 1 to 1000");
  const auto bytes = static_cast<std::size_t>(size) / 8 * 8;
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED)
    operation::unknown(
        fmt::format("cannot get {} bytes: raise \"memory\" of the specification, or test less", bytes));
  auto* words = static_cast<Word*>(memory);
  const std::size_t count = bytes / 8;
  std::int64_t errors = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (const std::uint64_t p : {std::uint64_t{0}, std::uint64_t{0x5555555555555555U},
                                  std::uint64_t{0x3333333333333333U}, std::uint64_t{0x0f0f0f0f0f0f0f0fU}})
      errors += march(words, count, [p](std::size_t) { return p; });
    const std::uint64_t one = std::uint64_t{1} << (pass % 64);
    errors += march(words, count, [one](std::size_t) { return one; });
    errors +=
        march(words, count, [words](std::size_t i) { return reinterpret_cast<std::uintptr_t>(words + i); });
  }
  auto found = sickbay::Json::object({{"memory_test_errors", errors}, {"memory_tested", bytes}});
  if (errors > 0) operation::fault(found, fmt::format("{} words came back wrong", errors));
  operation::ok(found);
}
