// SPDX-License-Identifier: Apache-2.0
#include "model/swim_message.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

SwimMessage full() {
  SwimMessage message;
  message.kind = SwimKind::told;
  message.group = 0x01020304;
  message.from = 7, message.to = 4095;
  message.run = 0xFFFFFFFF, message.seq = 9, message.nonce = 0x80000000;
  message.about = 3, message.heard = true;
  message.news = {{1, 2, SwimStanding::suspect}, {4095, 0xFFFFFFFF, SwimStanding::silent}};
  return message;
}

TEST(SwimMessage, ComesBackAsItWas) {
  const std::string bytes = format_swim_message(full());
  EXPECT_EQ(bytes.size(), kSwimHeadBytes + 2 * kSwimNewsBytes);
  EXPECT_EQ(parse_swim_message(bytes).value(), full());
  SwimMessage ping;
  EXPECT_EQ(parse_swim_message(format_swim_message(ping)).value(), ping);
}

TEST(SwimMessage, WritesNoMoreNewsThanItReads) {
  SwimMessage message = full();
  message.news.assign(20, {1, 2, SwimStanding::alive});
  const std::string bytes = format_swim_message(message);
  EXPECT_EQ(bytes.size(), kMostSwimBytes);
  EXPECT_EQ(parse_swim_message(bytes).value().news.size(), kMostSwimNews);
}

TEST(SwimMessage, IsRefusedWhereItIsNoMessage) {
  const std::string good = format_swim_message(full());
  const auto with = [&](std::size_t at, char value) {
    std::string bytes = good;
    bytes[at] = value;
    return bytes;
  };
  const struct {
    const char* what;
    std::string bytes;
  } rows[] = {
      {"too short", ""},
      {"too short", good.substr(0, kSwimHeadBytes - 1)},
      {"length", good.substr(0, good.size() - 1)},
      {"length", good + "x"},
      {"version", with(0, 2)},
      {"kind", with(1, 0)},
      {"kind", with(1, 5)},
      {"member", with(6, 0x10)},   // from
      {"member", with(8, 0x10)},   // to
      {"member", with(22, 0x10)},  // about
      {"about nobody", with(1, 1)},
      {"out of place", with(24, 2)},
      {"out of place", with(1, 3)},  // an ask that heard
      {"too many", with(25, 7)},
      {"length", with(25, 1)},
      {"nobody", with(26, 0x10)},
      {"nobody", with(32, 3)},
  };
  for (const auto& row : rows) {
    const auto parsed = parse_swim_message(row.bytes);
    ASSERT_FALSE(parsed) << row.what;
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_input);
    EXPECT_NE(parsed.error().what.find(row.what), std::string::npos) << parsed.error().what;
  }
}

}  // namespace
}  // namespace sickbay
