// SPDX-License-Identifier: Apache-2.0
// Frames of the nonstop protocol, and the bytes of a callback (nonstop_wire.h).
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/nonstop_wire.h"

namespace sickbay::wire {

std::string frame(std::string_view body) {
  SB_CHECK(body.size() < 99'999'999, "a length has eight digits");
  std::string out = fmt::format("{:08}\n", body.size() + 1);
  out += body;
  out += '\0';
  return out;
}

std::string callback_message(std::uint32_t flags) {
  std::string out = {0, 0, 0, 4};
  for (int i = 0; i < 4; ++i) out += static_cast<char>(flags >> (8 * i) & 0xffU);
  return out;
}

// Sets length_ once the header is whole.
Status FrameReader::look_at_header() {
  const auto refuse = [](std::string what, std::string cause) {
    return fail(Error(ErrorCode::bad_input, std::move(what))
                    .because(std::move(cause))
                    .remedied_by("send the length in 8 digits, a line end, and that many bytes"));
  };
  const std::size_t seen = std::min(bytes_.size(), kHeaderBytes);
  // The original's header is read by sscanf, and so blanks may stand before the digits.
  bool digits = false;
  for (std::size_t i = 0; i < seen; ++i) {
    const char c = bytes_[i];
    const bool last = i + 1 == kHeaderBytes;
    const bool fits = last ? c == '\n' && digits : is_digit(c) || (c == ' ' && !digits);
    if (!fits)
      return refuse("a message without its length",
                    fmt::format("it begins with {}", quote_for_message(bytes_, kHeaderBytes)));
    digits = digits || is_digit(c);
  }
  if (seen < kHeaderBytes) return {};
  std::size_t length = 0;
  for (std::size_t i = 0; i + 1 < kHeaderBytes; ++i)
    if (is_digit(bytes_[i])) length = length * 10 + static_cast<std::size_t>(bytes_[i] - '0');
  if (length == 0) return refuse("an empty message", "its length is 0");
  if (length > most_)
    return refuse(fmt::format("a message of {} bytes", length), fmt::format("a message may have {}", most_));
  length_ = length;
  return {};
}

Status FrameReader::take(std::string_view bytes) {
  if (broken_) return tl::unexpected<Error>(*broken_);
  bytes_ += bytes;
  if (length_) return {};
  Status looked = look_at_header();
  if (!looked) {
    broken_ = looked.error();
    bytes_.clear();
    // A stranger's bytes are not kept until he closes.
    bytes_.shrink_to_fit();
  }
  return looked;
}

std::optional<std::string> FrameReader::next() {
  if (broken_ || !length_ || bytes_.size() < kHeaderBytes + *length_) return std::nullopt;
  std::string body = bytes_.substr(kHeaderBytes, *length_);
  body.resize(std::min(body.find('\0'), body.size()));
  bytes_.erase(0, kHeaderBytes + *length_);
  length_.reset();
  // What is wrong with the next one is said by the next take(), which looks again.
  if (!bytes_.empty())
    if (const Status looked = look_at_header(); !looked) {
      broken_ = looked.error();
      bytes_.clear();
    }
  return body;
}

}  // namespace sickbay::wire
