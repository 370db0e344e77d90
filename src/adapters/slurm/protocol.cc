// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/protocol.h"

#include <fmt/format.h>

#include "base/error_json.h"

namespace sickbay::slurm {

Json Request::to_json() const { return Json::object({{"id", id}, {"call", call}, {"args", args}}); }

Result<Request> Request::from_json(const Json& json) {
  if (!json.is_object() || !json["id"].is_int() || !json["call"].is_string())
    return fail(ErrorCode::bad_input, "a request to sickbay-slurm has no id or no call");
  return Request{json["id"].as_int(), json["call"].as_string(), json["args"]};
}

Json Reply::to_json() const {
  Json json = Json::object({{"id", id}});
  if (outcome)
    json.set("ok", *outcome);
  else
    json.set("error", error_to_json(outcome.error()));
  json.set("took_us", took_us);
  return json;
}

Result<Reply> Reply::from_json(const Json& json) {
  if (!json.is_object() || !json["id"].is_int())
    return fail(ErrorCode::bad_input, "an answer of sickbay-slurm has no id");
  Reply reply{json["id"].as_int(), Json(), json["took_us"].as_int()};
  if (json["error"].is_object())
    reply.outcome = fail(error_from_json(json["error"]));
  else if (json.has("ok"))
    reply.outcome = json["ok"];
  else
    return fail(ErrorCode::bad_input, "an answer of sickbay-slurm has neither ok nor error");
  return reply;
}

std::string frame(const Json& json) {
  const std::string body = json.dump();
  const auto length = static_cast<std::uint32_t>(body.size());
  std::string bytes;
  bytes.reserve(body.size() + 4);
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((length >> shift) & 0xff);
  return bytes + body;
}

Result<std::optional<Json>> FrameReader::next() {
  if (buffered() < 4) return std::optional<Json>();
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i)
    length = (length << 8) | static_cast<unsigned char>(buffer_[begin_ + i]);
  // Before room is made for it.
  if (length > kMaxFrame)
    return fail(ErrorCode::bad_input,
                fmt::format("a frame of {} bytes is over the {} allowed", length, kMaxFrame));
  if (buffered() < 4 + length) return std::optional<Json>();
  auto json = Json::parse(std::string_view(buffer_).substr(begin_ + 4, length));
  begin_ += 4 + length;
  // Give the memory of a large first answer back instead of keeping it for ever.
  if (begin_ == buffer_.size()) {
    begin_ = 0;
    if (buffer_.capacity() > (std::size_t{1} << 20))
      buffer_ = std::string();
    else
      buffer_.clear();
  }
  if (!json) return fail(std::move(json.error()).in("reading a frame"));
  return std::optional<Json>(std::move(*json));
}

}  // namespace sickbay::slurm
