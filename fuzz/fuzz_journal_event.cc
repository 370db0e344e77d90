// SPDX-License-Identifier: Apache-2.0
// Events: whatever JSON is taken for an event has one text, and that is taken for the same event.
#include "model/event.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const auto json = Json::parse(fuzz::as_text(bytes, size));
  if (!json) return 0;
  const auto event = Event::from_json(*json);
  if (!event) {
    SB_CHECK(event.error().code == ErrorCode::bad_input, "bytes from outside are bad_input, nothing else");
    return 0;
  }
  const std::string text = event->text();
  SB_CHECK(text.find('\n') == std::string::npos, "one event, one line");
  Json::ParseOptions deep;
  deep.max_depth = 65;
  const auto read = Json::parse(text, deep);
  SB_CHECK(read.has_value(), "the text of an event parses");
  const auto again = Event::from_json(*read);
  SB_CHECK(again.has_value(), "as an event");
  SB_CHECK(*again == *event, "and as the same one");
  SB_CHECK(again->text() == text, "with the same text");
  return 0;
}
