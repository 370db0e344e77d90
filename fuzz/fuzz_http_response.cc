// SPDX-License-Identifier: Apache-2.0
// Answers, as the client reads them: what comes out does not depend on how the bytes were cut on their way.
// The first byte of an input says how its copy is cut.
#include <string>

#include "ports/http_response.h"
#include "property.h"

namespace {

using namespace sickbay;

struct Outcome {
  int status = 0;
  std::string body, rest, refusal;
  bool complete = false, keeps_connection = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome read(std::string_view bytes, std::size_t piece) {
  HttpResponseReader reader;
  Outcome outcome;
  Status status;
  for (; status && !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    status = reader.add(bytes.substr(0, piece));
    if (status) SB_CHECK(reader.is_begun(), "bytes came");
    outcome.body += reader.take_body();
  }
  if (status) status = reader.end();
  outcome.body += reader.take_body();
  if (!status) {
    fuzz::check_refusal(status.error());
    SB_CHECK(!reader.add("HTTP/1.1 200 OK\r\n\r\n") && !reader.end(), "an error stays");
    outcome.refusal = status.error().cause;
    outcome.body.clear();  // how much of it came before the fault depends on the cuts
    return outcome;
  }
  SB_CHECK(reader.is_complete() && reader.status() >= 200 && reader.status() <= 999, "a whole answer");
  outcome.status = reader.status();
  outcome.complete = true;
  outcome.keeps_connection = reader.keeps_connection();
  outcome.rest = reader.rest();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::as_text(bytes + 1, size - 1);
  const Outcome whole = read(text, text.size() + 1), cut = read(text, 1U + bytes[0] % 32U);
  SB_CHECK(whole == cut, "the cuts make no difference");
  SB_CHECK(whole.body.size() + whole.rest.size() <= text.size(), "nothing is added");
  return 0;
}
