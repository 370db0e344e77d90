// SPDX-License-Identifier: Apache-2.0
#include "service/snapshot.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

const SnapshotHead kHead{"p", "c", 17, "12:00000000000000ff"};

TEST(Snapshot, ComesBack) {
  const std::string state = std::string("a\n\0b", 4);
  const auto back = parse_snapshot(snapshot_bytes(kHead, state));
  ASSERT_TRUE(back) << back.error().line();
  EXPECT_EQ(back->head, kHead);
  EXPECT_EQ(back->state, state);
  EXPECT_TRUE(parse_snapshot(snapshot_bytes(kHead, "")));
}

// Whatever a disk or an editor does to it: it is seen, and nothing of it is taken.
TEST(Snapshot, NoBitAndNoByteMayBeAnother) {
  const std::string bytes = snapshot_bytes(kHead, std::string(500, 's'));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int bit : {0, 3, 7}) {
      std::string other = bytes;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_FALSE(parse_snapshot(other)) << i;
    }
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(parse_snapshot(bytes.substr(0, n))) << n;
  EXPECT_FALSE(parse_snapshot(bytes + "0"));
}

TEST(Snapshot, TheHeadIsReadWithoutTheRest) {
  const std::string bytes = snapshot_bytes(kHead, "state");
  EXPECT_EQ(snapshot_head(bytes.substr(0, bytes.find('\n'))), kHead);
  EXPECT_FALSE(snapshot_head("{}"));
  EXPECT_FALSE(snapshot_head("{\"sickbay_state\":2}"));
}

}  // namespace
}  // namespace sickbay
