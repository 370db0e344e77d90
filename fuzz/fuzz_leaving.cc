// SPDX-License-Identifier: Apache-2.0
// The file by which an agent tells programs that its node is leaving: one text for each moment, and no other.
#include <algorithm>
#include <cstring>

#include "model/leaving.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  if (const auto since = parse_leaving(text))
    SB_CHECK(format_leaving(*since) == text, "one text for each moment");
  else
    fuzz::check_refusal(since.error());
  // The first eight bytes as a moment: what no text may give.
  std::int64_t number = 0;
  std::memcpy(&number, bytes, std::min(size, sizeof number));
  const std::string printed = format_leaving(from_micros(number));
  SB_CHECK(printed.size() <= kMostLeavingBytes, "its reader has room for it");
  const auto again = parse_leaving(printed);
  SB_CHECK(again.has_value() == (number > 0) && (!again || to_micros(*again) == number),
           "every moment after 1970 is read again, and no other");
  return 0;
}
