// SPDX-License-Identifier: Apache-2.0
#include "model/tcp_losses.h"

#include <gmock/gmock.h>

namespace sickbay {
namespace {

using namespace std::chrono_literals;

TEST(TcpLosses, ComeBackAsTheyWere) {
  const TcpLosses one{
      61s, {"10.0.0.1", "fe80::1"}, {{"10.0.0.2", 9000, 90}, {"10.0.0.3", 10, 0}}, {{"10.0.0.9", 2000, 3}}};
  const auto again = read_tcp_losses(to_json(one));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, one);
  EXPECT_EQ(one.lost(), 90);
}

TEST(TcpLosses, WhatIsNoneIsRefused) {
  for (const char* text :
       {"{}", "7", "null", R"({"seen_us": 1})", R"({"peers": []})", R"({"seen_us": 1, "peers": 7})"})
    EXPECT_FALSE(read_tcp_losses(*Json::parse(text))) << text;
}

TEST(TcpLosses, NumbersAndAddressesAreBounded) {
  const auto odd = read_tcp_losses(*Json::parse(
      R"({"seen_us": -5, "own": ["10.0.0.1", "n1; rm", 7], "peers": [{"address": "10.0.0.2", "sent": 10, "lost": 900},
          {"address": "", "sent": 1}, {"address": "\u001b[2J", "sent": 1, "lost": 1},
          {"address": "::1", "sent": 9223372036854775807, "lost": -1}, 8]})"));
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->seen, 0s);
  EXPECT_THAT(odd->own, testing::ElementsAre("10.0.0.1"));
  EXPECT_THAT(odd->peers, testing::ElementsAre(PeerLosses{"10.0.0.2", 10, 10},
                                               PeerLosses{"::1", std::int64_t{1} << 48, 0}));
  Json many = Json::array();
  for (int i = 0; i < 1000; ++i) many.push(Json::object({{"address", "10.0.0.2"}, {"sent", 1}, {"lost", 1}}));
  const auto cut = read_tcp_losses(Json::object({{"seen_us", 1}, {"peers", many}, {"echoes", many}}));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->peers.size(), kMostPeersTold);
  EXPECT_EQ(cut->echoes.size(), kMostEchoes);
}

}  // namespace
}  // namespace sickbay
