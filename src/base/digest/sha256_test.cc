// SPDX-License-Identifier: Apache-2.0
#include "base/digest/sha256.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

// The examples of FIPS 180-4's companion page and of sha256sum.
TEST(Sha256, IsWhatOthersCompute) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_NE(sha256_hex(std::string_view("\0", 1)), sha256_hex(""));
}

TEST(Sha256, PiecesMakeTheSame) {
  Sha256 sum;
  for (const char* piece : {"a", "", "bc"}) sum.add(piece);
  EXPECT_EQ(sum.hex(), sha256_hex("abc"));
}

}  // namespace
}  // namespace sickbay
