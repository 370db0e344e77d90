// SPDX-License-Identifier: Apache-2.0
// JSON: what was parsed once has one text, and that text parses to the same value.
#include "base/json.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  Json::ParseOptions with_comments;
  with_comments.comments = true;
  with_comments.source = "fuzz.json";
  for (const Json::ParseOptions& options : {Json::ParseOptions(), with_comments}) {
    const auto value = Json::parse(text, options);
    if (!value) {
      SB_CHECK(value.error().code == ErrorCode::bad_input, "bytes from outside are bad_input, nothing else");
      SB_CHECK(!value.error().what.empty(), "a refusal says why");
      continue;
    }
    const std::string dumped = value->dump();
    SB_CHECK(dumped.find('\n') == std::string::npos, "one line");
    const auto again = Json::parse(dumped);
    SB_CHECK(again.has_value(), "the text that was printed parses");
    SB_CHECK(*again == *value, "to the same value");
    SB_CHECK(again->dump() == dumped, "which has the same text");
    SB_CHECK(Json::parse(value->pretty()).value() == *value, "and so has the text for people");
    SB_CHECK(value->offset() <= size, "an offset lies in the text");
  }
  return 0;
}
