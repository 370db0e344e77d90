// SPDX-License-Identifier: Apache-2.0
// Lines of keepers of checkpoints: what is read is, printed again, the same line.
#include "model/keep_wire.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view line = fuzz::as_text(bytes, size);
  const auto look = [&](const auto& read) {
    if (!read) return fuzz::check_refusal(read.error());
    SB_CHECK(line.size() < kMostKeepLine, "lines are short");
    SB_CHECK(format_keep(*read) == line, "one text for each value");
  };
  look(parse_keep_greeting(line));
  look(parse_keep_request(line));
  look(parse_keep_answer(line));
  const auto packs = parse_keep_needs(line);
  if (!packs) fuzz::check_refusal(packs.error());
  if (packs) SB_CHECK(format_keep_needs(*packs) == line, "one text for each list");
  return 0;
}
