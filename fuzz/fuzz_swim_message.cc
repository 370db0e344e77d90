// SPDX-License-Identifier: Apache-2.0
// Messages between agents: what is read has one text, and a seal opens for what was sealed and nothing else.
#include "base/digest/hmac.h"
#include "model/swim_message.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  const auto message = parse_swim_message(text);
  if (message) {
    SB_CHECK(text.size() <= kMostSwimBytes, "bounded");
    SB_CHECK(format_swim_message(*message) == text, "a message has one text");
  } else {
    fuzz::check_refusal(message.error());
  }
  constexpr std::string_view kKey = "a key of thirty-two bytes, no more";
  SB_CHECK(!open_seal(text, kKey) || text.size() >= kSealBytes, "what is shorter than a seal has none");
  const std::string sealed = seal(text, kKey);
  SB_CHECK(open_seal(sealed, kKey) == text, "the same key opens it");
  SB_CHECK(!open_seal(sealed, "another key"), "no other does");
  return 0;
}
