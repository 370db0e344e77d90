// SPDX-License-Identifier: Apache-2.0
#include "model/leaving.h"

#include <charconv>

#include "base/text.h"

namespace sickbay {

std::string format_leaving(TimePoint since) { return std::to_string(to_micros(since)) + "\n"; }

Result<TimePoint> parse_leaving(std::string_view text) {
  std::int64_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  // (What prints as something else was no number of ours: "+1", "01", "1 ", half a line.)
  if (number > 0 && text == format_leaving(from_micros(number))) return from_micros(number);
  return fail(
      Error(ErrorCode::bad_input, quote_for_message(text) + " is no moment since when a node is leaving")
          .remedied_by("write microseconds since 1970 and a line end, as the agent does"));
}

}  // namespace sickbay
