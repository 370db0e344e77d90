// SPDX-License-Identifier: Apache-2.0
// What sickbay-ranks prints: any bytes are read or refused, what is read is bounded, and its text gives it
// again.
#include "model/rank_look.h"

#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const auto look = parse_rank_look(fuzz::as_text(bytes, size));
  if (!look) return 0;
  for (const Rank& r : look->ranks) {
    SB_CHECK(r.rank >= 0 && r.rounds.size() <= kMostRounds, "a rank has a number and few rounds");
    for (const RankRound& round : r.rounds)
      for (const std::uint32_t i : round.stacks)
        SB_CHECK(i < r.stacks.size(), "a stack that is named is there");
    for (const RankStack& s : r.stacks) {
      SB_CHECK(s.frames.size() <= kMostFrames, "a stack is bounded");
      for (const RankFrame& f : s.frames)
        for (const char c : f.function + f.module) SB_CHECK(c >= ' ' && c <= '~', "a name is one line");
    }
  }
  const auto again = parse_rank_look(format_rank_look(*look));
  SB_CHECK(again && *again == *look, "its text gives it again");
  return 0;
}
