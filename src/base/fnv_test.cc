// SPDX-License-Identifier: Apache-2.0
// The published values of FNV-1a.
#include "base/fnv.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Fnv, PublishedValues) {
  EXPECT_EQ(fnv32(""), 0x811c9dc5U);
  EXPECT_EQ(fnv32("a"), 0xe40c292cU);
  EXPECT_EQ(fnv32("foobar"), 0xbf9cf968U);
  EXPECT_EQ(fnv64(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv64("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv64("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(fnv64("bar", fnv64("foo")), fnv64("foobar")) << "in pieces";
}

}  // namespace
}  // namespace sickbay
