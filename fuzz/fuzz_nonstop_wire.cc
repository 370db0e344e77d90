// SPDX-License-Identifier: Apache-2.0
// The nonstop protocol's bytes: a stream gives the same frames however it is cut, and a request is read, or
// refused with a reason; one that was read is the same when it is written and read again.
#include "model/nonstop_wire.h"
#include "property.h"

namespace {

using namespace sickbay;

// The bodies of a stream that comes in pieces of `cut` bytes, and whether it broke.
std::pair<std::vector<std::string>, bool> bodies_of(std::string_view stream, std::size_t cut) {
  wire::FrameReader reader;
  std::vector<std::string> bodies;
  for (std::size_t at = 0; at < stream.size(); at += cut) {
    const Status taken = reader.take(stream.substr(at, cut));
    while (auto body = reader.next()) bodies.push_back(std::move(*body));
    if (!taken) {
      fuzz::check_refusal(taken.error());
      return {bodies, true};
    }
  }
  return {bodies, !reader.take("")};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = fuzz::as_text(bytes, size);
  // (The server reads less at a time: nonstop_connection.cc.)
  const auto whole = bodies_of(text, std::clamp<std::size_t>(size, 1, 16 << 10));
  SB_CHECK(bodies_of(text, 1) == whole && bodies_of(text, 5) == whole, "a cut changes nothing");
  for (const std::string& body : whole.first) {
    SB_CHECK(body.size() < wire::kMaxMessage, "a body is bounded");
    wire::FrameReader reader;
    SB_CHECK(reader.take(wire::frame(body)) && reader.next() == body && !reader.half(),
             "a frame is read back");
  }

  const auto request = wire::parse_request(text);
  if (!request) {
    fuzz::check_refusal(request.error());
    return 0;
  }
  SB_CHECK(request->names.size() <= wire::kMaxNodesAsked, "the nodes are bounded");
  const auto again = wire::parse_request(wire::format_request(*request));
  SB_CHECK(again && *again == *request, "what was read is written and read again");
  return 0;
}
