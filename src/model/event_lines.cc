// SPDX-License-Identifier: Apache-2.0
#include "model/event_lines.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sickbay {

Result<std::size_t> for_each_event(std::string_view lines, const std::function<void(const Event&)>& each) {
  std::size_t number = 0, events = 0;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = trimmed(lines.substr(0, end));
    lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
    ++number;
    if (line.empty()) continue;
    const auto json = Json::parse(line);
    const auto event = json ? Event::from_json(*json) : Result<Event>(fail(json.error()));
    if (!event)
      return fail(Error(ErrorCode::bad_input, fmt::format("line {} is no event of the journal", number))
                      .because(event.error().line())
                      .remedied_by("give the output of 'sickbay journal --json'"));
    ++events;
    each(*event);
  }
  return events;
}

}  // namespace sickbay
