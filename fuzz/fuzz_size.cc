// SPDX-License-Identifier: Apache-2.0
// Sizes: what a printer writes, its parser reads as the same value, whatever a bare number counts.
#include <cstring>
#include <limits>

#include "base/size.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  for (const BareUnit bare : {BareUnit::bytes, BareUnit::kib, BareUnit::mib}) {
    const auto memory = parse_memory(text, bare);
    if (!memory) {
      fuzz::check_refusal(memory.error());
      SB_CHECK(!parse_size(text, bare), "what is no memory is no size");
      continue;
    }
    SB_CHECK(memory->size.count >= 0, "never negative");
    const std::string printed = format_memory(*memory);
    SB_CHECK(parse_memory(printed, BareUnit::mib).value() == *memory,
             "the printed text parses to the same value");
    SB_CHECK(parse_memory(printed, BareUnit::bytes).value() == *memory, "the printed text has its unit");
    const auto plain = parse_size(text, bare);
    SB_CHECK(plain.has_value() == (memory->per == MemoryPer::unstated), "per node or CPU is no plain size");
    // Rounding up the last MiB below 2^63 leaves the range; Slurm has no such memory.
    if (memory->size.count > std::numeric_limits<std::int64_t>::max() - mib(1).count) continue;
    const auto asked = parse_size(format_slurm_memory(memory->size), BareUnit::bytes);
    SB_CHECK(asked.value() >= memory->size, "Slurm is not asked for less");
  }
  std::int64_t number = 0;
  std::memcpy(&number, bytes, std::min(size, sizeof number));
  SB_CHECK(describe_size({number}).size() < 20, "short");
  if (number >= 0)
    SB_CHECK(parse_size(format_size({number}), BareUnit::kib).value().count == number,
             "all sizes have a text");
  return 0;
}
