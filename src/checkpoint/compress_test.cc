// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/compress.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint_test_parts.h"

namespace sickbay::checkpoint {
namespace {

using test::noise;

TEST(Squeezer, MakesSmallerWhatCanBe) {
  Squeezer squeezer;
  Unsqueezer unsqueezer;
  const std::string raw = std::string(3000, 'a') + noise(1000, 1);
  const std::string stored(squeezer.squeeze(raw));
  EXPECT_LT(stored.size(), 1200U);
  ASSERT_FALSE(stored.empty());
  std::string again(raw.size(), '\0');
  ASSERT_TRUE(unsqueezer.unsqueeze(stored, again));
  EXPECT_EQ(again, raw);

  std::string shorter(raw.size() - 1, '\0'), longer(raw.size() + 1, '\0');
  EXPECT_FALSE(unsqueezer.unsqueeze(stored, shorter));
  EXPECT_FALSE(unsqueezer.unsqueeze(stored, longer));
  EXPECT_FALSE(unsqueezer.unsqueeze(std::string_view(stored).substr(0, stored.size() / 2), again));
  EXPECT_FALSE(unsqueezer.unsqueeze("no such thing", again));
}

TEST(Squeezer, LeavesWhatCannotBeAndTriesEverMoreSeldom) {
  Squeezer squeezer;
  const std::string dense = noise(16'384, 1), loose(16'384, 'x');
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(squeezer.squeeze(dense), "");
  // A loose one is seen at the latest after 64 others, and from then on each is made smaller.
  int left = 0;
  while (squeezer.squeeze(loose).empty()) ASSERT_LE(++left, 64);
  EXPECT_GT(left, 0);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(squeezer.squeeze(loose).empty());
}

TEST(Squeezer, TakesTheEmptyAndTheTiny) {
  Squeezer squeezer;
  EXPECT_EQ(squeezer.squeeze(""), "");
  EXPECT_EQ(squeezer.squeeze("a"), "");
}

}  // namespace
}  // namespace sickbay::checkpoint
