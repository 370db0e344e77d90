// SPDX-License-Identifier: Apache-2.0
#include "model/lease_message.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

const SoleWord kSole{7, 2, "head1"};

TEST(LeaseMessage, ComesBackAsItWas) {
  const LeaseAsk ask{3, true, 8, "head2", Micros(20'000'000), kSole};
  const auto asked = lease_ask_from(to_json(ask));
  ASSERT_TRUE(asked) << asked.error().what;
  EXPECT_EQ(*asked, ask);

  const LeaseAnswer answer{3, false, 7, "head1", Micros(5), kSole};
  const auto answered = lease_answer_from(to_json(answer));
  ASSERT_TRUE(answered) << answered.error().what;
  EXPECT_EQ(*answered, answer);

  const LeaseAsk silent{1, false, 1, "head1", Micros(0), {}};
  EXPECT_TRUE(to_json(silent)["sole"].is_null());
  EXPECT_EQ(lease_ask_from(to_json(silent)).value_or(LeaseAsk{}), silent);
}

TEST(LeaseMessage, TakesNothingThatNobodyMayAsk) {
  const Json good = to_json(LeaseAsk{3, false, 8, "head2", Micros(20'000'000), kSole});
  const std::pair<const char*, Json> rows[] = {
      {"serial", -1},
      {"serial", "3"},
      {"look", 1},
      {"term", 0},
      {"term", -4},
      {"who", ""},
      {"who", std::string(256, 'a')},
      {"length_us", -1},
      {"length_us", kLongestLease.count() + 1},
      {"sole", "head1"},
      {"sole", Json::object({{"term", 1}, {"change", -1}, {"name", ""}})},
  };
  ASSERT_TRUE(lease_ask_from(good));
  for (const auto& [key, value] : rows) {
    Json bad = good;
    bad.set(key, value);
    EXPECT_FALSE(lease_ask_from(bad)) << key << " " << value.dump();
  }
  EXPECT_FALSE(lease_ask_from(Json()));
  EXPECT_FALSE(lease_answer_from(Json()));
  EXPECT_FALSE(lease_answer_from(good));
}

TEST(SoleWord, TheLaterOneHolds) {
  EXPECT_TRUE((SoleWord{2, 0, "a"}.is_newer_than({1, 9, "b"})));
  EXPECT_TRUE((SoleWord{2, 2, "a"}.is_newer_than({2, 1, "b"})));
  EXPECT_FALSE((SoleWord{2, 1, "a"}.is_newer_than({2, 1, "b"})));
  EXPECT_TRUE((SoleWord{1, 1, ""}.is_newer_than({})));
}

}  // namespace
}  // namespace sickbay
