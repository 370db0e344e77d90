// SPDX-License-Identifier: Apache-2.0
#include "model/keep_wire.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

const std::string kA(kKeepHex, 'a'), kB(kKeepHex, '0');

TEST(KeepWire, WhatIsPrintedIsRead) {
  const KeepGreeting greeting{kA};
  EXPECT_EQ(parse_keep_greeting(format_keep(greeting)).value(), greeting);
  const KeepRequest request{12, 3, kA, kB};
  EXPECT_EQ(format_keep(request), "get 12 3 " + kA + " " + kB);
  EXPECT_EQ(parse_keep_request(format_keep(request)).value(), request);
  for (const KeepAnswer& answer : {KeepAnswer{}, KeepAnswer{0}, KeepAnswer{kMostKeepBytes}})
    EXPECT_EQ(parse_keep_answer(format_keep(answer)).value(), answer);
}

TEST(KeepWire, NothingElseIs) {
  for (const std::string& line : {std::string(), "sickbay-keep 2 " + kA, "sickbay-keep 1 " + kA + " ",
                                  "sickbay-keep  1 " + kA, "sickbay-keep 1 " + kA.substr(1)})
    EXPECT_FALSE(parse_keep_greeting(line)) << line;
  const std::string end = " " + kA + " " + kB;
  for (const std::string& line :
       {"get 0 3" + end, "get 1 -1" + end, "get 01 3" + end, "get +1 3" + end, "put 1 3" + end,
        "get 1 3 " + kA, "get 1 3" + end + " x", "get 1 3 " + std::string(kKeepHex, 'A') + " " + kB,
        "get 99999999999999999999 3" + end, "get 1 ../../x" + end})
    EXPECT_FALSE(parse_keep_request(line)) << line;
  for (const char* line : {"ok", "ok -1", "ok 1 ", "ok 1125899906842625", "none ", "no", "OK 1"})
    EXPECT_FALSE(parse_keep_answer(line)) << line;
}

TEST(KeepWire, TheSealIsOfAllThatIsAsked) {
  const KeepRequest request{12, 3, kA, kB};
  EXPECT_EQ(seal_text(kB, request), kB + " get 12 3 " + kA);
}

}  // namespace
}  // namespace sickbay
