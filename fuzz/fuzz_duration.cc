// SPDX-License-Identifier: Apache-2.0
// Durations: what a printer writes, its parser reads as the same value.
#include <cstring>

#include "base/duration.h"
#include "property.h"

namespace {

using namespace sickbay;

// parse, print, parse; and the second text is the first one's last word.
template <class Parse, class Print>
void check_round_trip(std::string_view text, Parse parse, Print print) {
  const auto value = parse(text);
  if (!value) return fuzz::check_refusal(value.error());
  const std::string printed = print(*value);
  const auto again = parse(printed);
  SB_CHECK(again && *again == *value, "the printed text parses to the same value");
  SB_CHECK(print(*again) == printed, "one value, one text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = fuzz::as_text(bytes, size);
  check_round_trip(text, parse_time_limit, format_time_limit);
  check_round_trip(text, parse_elapsed, format_elapsed);
  check_round_trip(text, parse_duration, format_duration);
  if (const auto limit = parse_time_limit(text))
    SB_CHECK(limit->length.count() >= 0 && limit->minutes() <= kMaxTimeLimit, "Slurm can hold it");

  // The first eight bytes as a number: what no text may give.
  std::int64_t number = 0;
  std::memcpy(&number, bytes, std::min(size, sizeof number));
  const std::chrono::microseconds duration(number);
  SB_CHECK(describe_duration(duration).size() < 40, "short");
  if (number >= 0) {
    SB_CHECK(parse_duration(format_duration(duration)).value() == duration, "all durations have a text");
    if (number < 9'000'000'000'000'000'000)
      SB_CHECK(parse_elapsed(format_elapsed(duration)).value() == duration, "all durations have a text");
  }
  return 0;
}
