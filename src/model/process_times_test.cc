// SPDX-License-Identifier: Apache-2.0
#include "model/process_times.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

using namespace std::chrono_literals;

TEST(ProcessTimes, ComesBackFromJson) {
  ProcessTimes times;
  times.pid = 4711;
  times.name = "a.out";
  times.seen = 61s;
  times.ran = 30s;
  times.waited = 29s;
  times.stopped = 2s;
  times.throttled = 28s;
  const auto read = read_process_times(to_json(times));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(*read, times);
  EXPECT_EQ(read->lost_permille(), 508);
  EXPECT_EQ(read->wanted_permille(), 1000);
}

TEST(ProcessTimes, WhatAgentsMayNotSay) {
  EXPECT_FALSE(read_process_times(Json()));
  EXPECT_FALSE(read_process_times(*Json::parse(R"({"seen_us": 1, "waited_us": 1})")));
  const auto odd = read_process_times(*Json::parse(
      R"({"seen_us": 1000000, "waited_us": 9000000, "stopped_us": 9000000, "pid": "x", "name": "a\u001bb"})"));
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->lost(), 1s) << "nobody loses more than there was";
  EXPECT_EQ(odd->name.find('\x1b'), std::string::npos);
  const auto none = read_process_times(*Json::parse(R"({"seen_us": -5, "waited_us": 3, "stopped_us": 1})"));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->lost_permille(), 0);
}

TEST(CpuSet, ReadsLists) {
  EXPECT_EQ(count_cpus(parse_cpu_list("0-3,8,200-201")), 7u);
  EXPECT_EQ(count_cpus(parse_cpu_list("")), 0u);
  EXPECT_EQ(count_cpus(parse_cpu_list("x,-1,5-2,99999999,0-99999999,7")), 1u);
  EXPECT_TRUE(share_cpus(parse_cpu_list("0-3"), parse_cpu_list("3,70")));
  EXPECT_FALSE(share_cpus(parse_cpu_list("0-3"), parse_cpu_list("4,70")));
  EXPECT_TRUE(share_cpus(parse_cpu_list("70"), parse_cpu_list("4,70")));
}

}  // namespace
}  // namespace sickbay
