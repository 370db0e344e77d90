// SPDX-License-Identifier: Apache-2.0
// Requests, as the server reads them: what comes out does not depend on how the bytes were cut on their way,
// and nothing that comes out breaks the limits.  The first byte of an input says how its copy is cut.
#include <string>
#include <vector>

#include "adapters/net/http_request.h"
#include "property.h"

namespace {

using namespace sickbay;

// Small, so that short inputs reach them.
constexpr HttpRequestLimits kLimits{512, 1024};

struct Outcome {
  std::string requests;  // all that was read, in one text
  HttpRequestReader::Progress last = HttpRequestReader::Progress::need_more;
  std::string refusal;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void check_text(const std::string& text) {
  SB_CHECK(std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }),
           "no control character in a target");
}

// What the server's connection does with the bytes, without its socket.
Outcome read(std::string_view bytes, std::size_t piece) {
  using Progress = HttpRequestReader::Progress;
  HttpRequestReader reader(kLimits);
  Outcome outcome;
  while (!bytes.empty() && outcome.last != Progress::failed) {
    reader.add(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while ((outcome.last = reader.step()) == Progress::complete) {
      SB_CHECK(reader.step() == Progress::complete && !reader.is_idle(), "step() repeats its answer");
      const IncomingRequest incoming = reader.take();
      const HttpRequest& request = incoming.request;
      SB_CHECK(request.path.starts_with('/'), "a path is absolute");
      SB_CHECK(request.body.size() <= kLimits.body_bytes, "the body keeps its limit");
      check_text(request.path);
      outcome.requests += request.method + "\n" + request.path + "\n";
      for (const auto& [name, value] : request.query) {
        check_text(name + value);
        outcome.requests += name + "=" + value + "\n";
      }
      outcome.requests += request.idempotency_key + "\n" + request.body + "\n";
      outcome.requests += incoming.keep_alive ? 'k' : '-';
      outcome.requests += incoming.chunks ? 'c' : '-';
      outcome.requests += incoming.head ? 'h' : '-';
    }
    if (outcome.last == Progress::need_more) {
      reader.take_expectation();
      SB_CHECK(!reader.take_expectation(), "one request is told to continue once");
      SB_CHECK(reader.buffered() < kLimits.header_bytes + 4, "what waits is a head within its limit");
    }
  }
  if (outcome.last == Progress::failed) {
    const HttpResponse& refusal = reader.failure();
    SB_CHECK(refusal.status == 400 || refusal.status == 411 || refusal.status == 413 || refusal.status == 431,
             "the peer's fault");
    fuzz::check_refusal(error_from_response(refusal.status, refusal.body));
    outcome.refusal = std::to_string(refusal.status) + refusal.body;
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::as_text(bytes + 1, size - 1);
  // (The server reads so much at a time: http_connection.cc.)
  const Outcome whole = read(text, 16 << 10), cut = read(text, 1U + bytes[0] % 32U);
  SB_CHECK(whole == cut, "the cuts make no difference");
  return 0;
}
