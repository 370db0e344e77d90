// SPDX-License-Identifier: Apache-2.0
// The frames of sickbay-slurm: the same bytes give the same frames however they are cut, and what is read as
// a request or a reply says the same when it is written again.
#include <vector>

#include "adapters/slurm/protocol.h"
#include "property.h"

namespace {

using namespace sickbay;
using slurm::FrameReader;

struct Seen {
  std::vector<std::string> frames;
  bool broken = false;
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen read_all(std::string_view bytes, std::size_t step) {
  Seen seen;
  FrameReader reader;
  for (std::size_t at = 0; at < bytes.size() && !seen.broken; at += step) {
    reader.feed(bytes.substr(at, step));
    for (;;) {
      const auto next = reader.next();
      seen.broken = !next;
      if (!next) SB_CHECK(next.error().code == ErrorCode::bad_input, "bytes from outside are bad_input");
      if (!next || !*next) break;
      seen.frames.push_back((*next)->dump());
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = fuzz::as_text(bytes, size);
  const Seen whole = read_all(text, size + 1);
  SB_CHECK(read_all(text, 1) == whole, "cutting changes nothing");
  SB_CHECK(read_all(text, 7) == whole, "cutting changes nothing");
  for (const std::string& one : whole.frames) {
    const Json json = Json::parse(one).value();
    if (const auto request = slurm::Request::from_json(json))
      SB_CHECK(slurm::Request::from_json(request->to_json()).value() == *request, "a request reads back");
    if (const auto reply = slurm::Reply::from_json(json)) {
      const auto again = slurm::Reply::from_json(reply->to_json());
      SB_CHECK(again && again->to_json() == reply->to_json(), "a reply reads back");
    }
  }
  return 0;
}
