// SPDX-License-Identifier: Apache-2.0
#include "model/swim_message.h"

#include <algorithm>

namespace sickbay {
namespace {

constexpr std::uint8_t kVersion = 1;

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

// Reads from bytes that are known to be enough.
struct Cursor {
  std::string_view left;
  template <class T>
  T take() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value = value << 8 | static_cast<unsigned char>(left[i]);
    left.remove_prefix(sizeof(T));
    return static_cast<T>(value);
  }
};

tl::unexpected<Error> wrong(std::string what) {
  return fail(Error(ErrorCode::bad_input, "no message of a group: " + std::move(what))
                  .remedied_by("run agents of one version on all nodes"));
}

}  // namespace

std::string format_swim_message(const SwimMessage& message) {
  const std::size_t news = std::min(message.news.size(), kMostSwimNews);
  std::string out;
  out.reserve(kSwimHeadBytes + news * kSwimNewsBytes);
  put(out, kVersion, 1);
  put(out, static_cast<std::uint8_t>(message.kind), 1);
  put(out, message.group, 4);
  put(out, message.from, 2);
  put(out, message.to, 2);
  put(out, message.run, 4);
  put(out, message.seq, 4);
  put(out, message.nonce, 4);
  put(out, message.about, 2);
  put(out, message.heard ? 1 : 0, 1);
  put(out, news, 1);
  for (std::size_t i = 0; i < news; ++i) {
    put(out, message.news[i].member, 2);
    put(out, message.news[i].incarnation, 4);
    put(out, static_cast<std::uint8_t>(message.news[i].standing), 1);
  }
  return out;
}

Result<SwimMessage> parse_swim_message(std::string_view bytes) {
  if (bytes.size() < kSwimHeadBytes) return wrong("it is too short");
  Cursor cursor{bytes};
  if (cursor.take<std::uint8_t>() != kVersion) return wrong("it is of another version");
  SwimMessage message;
  const auto kind = cursor.take<std::uint8_t>();
  if (kind < static_cast<std::uint8_t>(SwimKind::ping) || kind > static_cast<std::uint8_t>(SwimKind::told))
    return wrong("its kind is unknown");
  message.kind = static_cast<SwimKind>(kind);
  message.group = cursor.take<std::uint32_t>();
  message.from = cursor.take<SwimIndex>();
  message.to = cursor.take<SwimIndex>();
  message.run = cursor.take<std::uint32_t>();
  message.seq = cursor.take<std::uint32_t>();
  message.nonce = cursor.take<std::uint32_t>();
  message.about = cursor.take<SwimIndex>();
  if (message.from >= kMostSwimMembers || message.to >= kMostSwimMembers || message.about >= kMostSwimMembers)
    return wrong("it names a member that no group has");
  const bool of_third = message.kind == SwimKind::ask || message.kind == SwimKind::told;
  // Nothing is taken that our printer would not write.
  if (message.about != 0 && !of_third) return wrong("it is about nobody");
  const auto heard = cursor.take<std::uint8_t>();
  if (heard > 1 || (heard == 1 && message.kind != SwimKind::told)) return wrong("'heard' is out of place");
  message.heard = heard == 1;
  const auto count = cursor.take<std::uint8_t>();
  if (count > kMostSwimNews) return wrong("it has too many news");
  // After this the reads below cannot run out of bytes.
  if (cursor.left.size() != count * kSwimNewsBytes) return wrong("its length is wrong");
  for (std::uint8_t i = 0; i < count; ++i) {
    SwimNews news;
    news.member = cursor.take<SwimIndex>();
    news.incarnation = cursor.take<std::uint32_t>();
    const auto standing = cursor.take<std::uint8_t>();
    if (news.member >= kMostSwimMembers || standing > static_cast<std::uint8_t>(SwimStanding::silent))
      return wrong("its news are of nobody, or of no standing");
    news.standing = static_cast<SwimStanding>(standing);
    message.news.push_back(news);
  }
  return message;
}

}  // namespace sickbay
