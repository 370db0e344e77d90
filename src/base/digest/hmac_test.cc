// SPDX-License-Identifier: Apache-2.0
#include "base/digest/hmac.h"

#include <gtest/gtest.h>

#include "base/digest/sha256.h"

namespace sickbay {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

TEST(Hmac, GivesTheValuesOfRfc4231) {
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  // A key that is longer than a block is hashed first.
  EXPECT_EQ(
      hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Seal, IsOpenedByTheSameKeyOnly) {
  const std::string sealed = seal("a message", "key");
  EXPECT_EQ(sealed.size(), 9 + kSealBytes);
  EXPECT_EQ(open_seal(sealed, "key"), "a message");
  EXPECT_FALSE(open_seal(sealed, "kez"));
  EXPECT_EQ(open_seal(seal("", "key"), "key"), "");
}

TEST(Seal, FailsAtEveryChangedBitAndEveryLength) {
  const std::string sealed = seal("a message", "key");
  for (std::size_t at = 0; at < sealed.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = sealed;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      EXPECT_FALSE(open_seal(other, "key")) << at << "." << bit;
    }
  for (std::size_t size = 0; size < sealed.size(); ++size)
    EXPECT_FALSE(open_seal(sealed.substr(0, size), "key")) << size;
  EXPECT_FALSE(open_seal(sealed + "x", "key"));
}

}  // namespace
}  // namespace sickbay
