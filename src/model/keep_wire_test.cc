// SPDX-License-Identifier: Apache-2.0
#include "model/keep_wire.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

const std::string kA(kKeepHex, 'a'), kB(kKeepHex, '0');

TEST(KeepWire, WhatIsPrintedIsRead) {
  const KeepGreeting greeting{kA};
  EXPECT_EQ(parse_keep_greeting(format_keep(greeting)).value(), greeting);
  const struct {
    KeepRequest request;
    std::string line;
  } rows[] = {
      {{KeepWhat::pack, 12, 3, kA, 0, 0, kB}, "get 12 3 " + kA + " " + kB},
      {{KeepWhat::part, 12, 3, kA, 0, 7, kB}, "part 12 3 " + kA + " 0 7 " + kB},
      {{KeepWhat::needs, 12, 3, kA, 0, 0, kB}, "needs 12 3 " + kA + " " + kB},
      {{KeepWhat::head, 12, 0, "", 0, 0, kB}, "head 12 " + kB},
      {{KeepWhat::parity, 12, 0, "", kMostKeepBytes, 7, kB},
       "xor 12 " + std::to_string(kMostKeepBytes) + " 7 " + kB},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(format_keep(row.request), row.line);
    EXPECT_EQ(parse_keep_request(row.line).value(), row.request) << row.line;
    EXPECT_LT(row.line.size(), kMostKeepLine);
    // All of it but the seal is sealed.
    EXPECT_EQ(seal_text(kA, row.request) + " " + kB, kA + " " + row.line);
  }
  for (const KeepAnswer& answer : {KeepAnswer{}, KeepAnswer{0}, KeepAnswer{kMostKeepBytes}})
    EXPECT_EQ(parse_keep_answer(format_keep(answer)).value(), answer);
}

TEST(KeepWire, NothingElseIs) {
  for (const std::string& line : {std::string(), "sickbay-keep 2 " + kA, "sickbay-keep 1 " + kA + " ",
                                  "sickbay-keep  1 " + kA, "sickbay-keep 1 " + kA.substr(1)})
    EXPECT_FALSE(parse_keep_greeting(line)) << line;
  const std::string end = " " + kA + " " + kB;
  for (const std::string& line : std::vector<std::string>{"get 0 3" + end,
                                                          "get 1 -1" + end,
                                                          "get 01 3" + end,
                                                          "get +1 3" + end,
                                                          "put 1 3" + end,
                                                          "get 1 3 " + kA,
                                                          "get 1 3" + end + " x",
                                                          "get 1 3 " + std::string(kKeepHex, 'A') + " " + kB,
                                                          "get 99999999999999999999 3" + end,
                                                          "get 1 ../../x" + end,
                                                          "part 1 3" + end,
                                                          "part 1 3 " + kA + " 0 -1 " + kB,
                                                          "part 1 3 " + kA + " 0 1125899906842625 " + kB,
                                                          "needs 1 " + kA,
                                                          "head 0 " + kA,
                                                          "head 1 2 " + kA,
                                                          "xor 1 2 " + kA,
                                                          "xor 1 2 3",
                                                          "",
                                                          "get"})
    EXPECT_FALSE(parse_keep_request(line)) << line;
  for (const char* line : {"ok", "ok -1", "ok 1 ", "ok 1125899906842625", "none ", "no", "OK 1"})
    EXPECT_FALSE(parse_keep_answer(line)) << line;
}

TEST(KeepWire, WhatAPackNeedsIsLines) {
  const std::vector<KeepPack> packs = {{12, 700, kA}, {1, 0, kB}};
  const std::string text = format_keep_needs(packs);
  EXPECT_EQ(text, "12 700 " + kA + "\n1 0 " + kB + "\n");
  EXPECT_EQ(parse_keep_needs(text).value(), packs);
  for (const std::string& other :
       {std::string(), text + "\n", text + " ", text.substr(3), text.substr(0, text.size() - 1),
        "12 700 " + kA + " x\n", "0 700 " + kA + "\n", "12 -1 " + kA + "\n", std::string(1000, '\n')})
    EXPECT_FALSE(parse_keep_needs(other)) << other;
  EXPECT_TRUE(parse_keep_needs(format_keep_needs(std::vector(kMostKeepNeeds, packs[0]))));
  EXPECT_FALSE(parse_keep_needs(format_keep_needs(std::vector(kMostKeepNeeds + 1, packs[0]))));
}

}  // namespace
}  // namespace sickbay
