// SPDX-License-Identifier: Apache-2.0
#include "model/event_lines.h"

#include <fmt/format.h>

#include <istream>

#include "base/text.h"

namespace sickbay {
namespace {

Result<Event> event_of(std::string_view line, std::size_t number) {
  const auto json = Json::parse(line);
  auto event = json ? Event::from_json(*json) : Result<Event>(fail(json.error()));
  if (event) return event;
  return fail(Error(ErrorCode::bad_input, fmt::format("line {} is no event of the journal", number))
                  .because(event.error().line())
                  .remedied_by("give the output of 'sickbay journal --json'"));
}

template <class NextLine>
Result<std::size_t> each_of(NextLine next, const std::function<void(const Event&)>& each) {
  std::size_t events = 0;
  std::string_view line;
  for (std::size_t number = 1; next(line); ++number) {
    if (trimmed(line).empty()) continue;
    const auto event = event_of(trimmed(line), number);
    // Not skipped: a journal with a hole would be read as another history.
    if (!event) return fail(event.error());
    ++events;
    each(*event);
  }
  return events;
}

}  // namespace

Result<std::size_t> for_each_event(std::string_view lines, const std::function<void(const Event&)>& each) {
  return each_of(
      [&](std::string_view& line) {
        if (lines.empty()) return false;
        const std::size_t end = lines.find('\n');
        line = lines.substr(0, end);
        lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
        return true;
      },
      each);
}

Result<std::size_t> for_each_event(std::istream& lines, const std::function<void(const Event&)>& each) {
  std::string text;
  return each_of(
      [&](std::string_view& line) {
        if (!std::getline(lines, text)) return false;
        line = text;
        return true;
      },
      each);
}

}  // namespace sickbay
