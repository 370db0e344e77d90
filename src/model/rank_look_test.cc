// SPDX-License-Identifier: Apache-2.0
#include "model/rank_look.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace sickbay {
namespace {

RankLook example() {
  Rank r;
  r.world = "step 0";
  r.rank = 3;
  r.size = 4;
  r.pid = 4711;
  r.name = "solver";
  r.stacks = {
      {{{"PMPI_Recv", "libmpich.so.12", false}, {"main", "solver", true}}, 0xfedcba9876543210ULL, true},
      {{{"solver+0x11d0", "solver", true}}, 1, false}};
  r.stacks[0].back = 0x4011f3;
  r.returns = {{4711, 0x4011f3, Micros(1'400'000), 0, ""}, {4712, 1, Micros(0), 0, "it has ended"}};
  r.others = {{4713, "clock_nanosleep", 1}, {4714, "", -1}};
  r.others_seen = true;
  r.others_left = 2;
  r.rounds = {{from_micros(5), 'R', 100, 7, 12, {0, 1}, {4711, 4713}, ""},
              {from_micros(6), 'T', 100, 7, -1, {}, {}, "it is stopped"}};
  RankLook look;
  look.ranks = {r};
  look.unread = {{"rank 4", "it has ended"}};
  look.network_bytes = 1000;
  look.unsent_bytes = 0;
  look.socket_bytes = 44;
  look.cpu_us = 1234;
  look.at = from_micros(6);
  return look;
}

TEST(RankLook, WhatIsPrintedIsRead) {
  const RankLook look = example();
  const auto again = parse_rank_look(format_rank_look(look));
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(*again, look);
  EXPECT_EQ(*parse_rank_look(format_rank_look({})), RankLook());
}

TEST(RankLook, TextsThatAreNone) {
  const std::string good = format_rank_look(example());
  std::string no_digest = good;
  no_digest.replace(no_digest.find("fedcba"), 6, "no dig");
  std::string no_stack = good;
  no_stack.replace(no_stack.find("\"stack\":1"), 9, "\"stack\":7");
  const std::string last = good.substr(good.find('\n') + 1);
  for (const std::string& text :
       {std::string(), good.substr(0, good.size() - 1), good.substr(0, good.find('\n') + 1), last + last,
        "x\n" + last, no_digest, no_stack, "{\"rank\":-1}\n" + last,
        "{\"rank\":1,\"rounds\":[{\"stacks\":[0]}]}\n" + last,
        "{\"rank\":1,\"rounds\":[{\"threads\":[7]}]}\n" + last, "{\"rank\":1,\"size\":-2}\n" + last})
    EXPECT_FALSE(parse_rank_look(text)) << text;
}

TEST(RankLook, NoNameHasAControlCharacter) {
  RankLook look = example();
  look.ranks[0].stacks[0].frames[0].function = "a\x1b[31m\nb\xff";
  const auto again = parse_rank_look(format_rank_look(look));
  ASSERT_TRUE(again);
  for (const char c : again->ranks[0].stacks[0].frames[0].function) EXPECT_TRUE(c >= ' ' && c <= '~');
}

}  // namespace
}  // namespace sickbay
