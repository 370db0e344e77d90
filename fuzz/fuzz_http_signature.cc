// SPDX-License-Identifier: Apache-2.0
// Payloads of credentials: what is read says again the same bytes, and no request passes for an answer.
#include "adapters/net/http_signature.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  const auto request = RequestSignature::parse(text);
  const auto answer = AnswerSignature::parse(text);
  SB_CHECK(!request || !answer, "one payload has one meaning");
  if (request)
    SB_CHECK(request->text() == text, "a request's payload has one text");
  else
    fuzz::check_refusal(request.error());
  if (answer)
    SB_CHECK(answer->text() == text, "an answer's payload has one text");
  else
    fuzz::check_refusal(answer.error());
  (void)credential_of(text);
  return 0;
}
