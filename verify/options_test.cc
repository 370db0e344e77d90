// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <gtest/gtest.h>

namespace sickbay::verify {
namespace {

TEST(Options, ReadsSizesWithUnits) {
  const struct {
    const char* text;
    std::uint64_t bytes;
  } rows[] = {{"4194304", 4 * kMiB}, {"64M", 64 * kMiB}, {"64MiB", 64 * kMiB}, {"1G", 1024 * kMiB}};
  for (const auto& row : rows) {
    const auto options = parse_options({"node", "--memory", row.text});
    ASSERT_TRUE(options) << row.text;
    EXPECT_EQ(options->memory, row.bytes) << row.text;
  }
  for (const char* wrong : {"", "M", "-1", "12X", "1 G", "1K"})  // the last is less than can be tested
    EXPECT_FALSE(parse_options({"node", "--memory", wrong})) << wrong;
}

TEST(Options, LaterOptionsOverrideThePreset) {
  const auto options = parse_options({"node", "--quick", "--memory", "8M", "--phases", "cpu,disk"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->cpu_class, 'S');
  EXPECT_EQ(options->memory, 8 * kMiB);
  EXPECT_EQ(options->phases, (std::vector<std::string>{"cpu", "disk"}));
}

TEST(Options, RefusesWhatItDoesNotKnow) {
  const std::vector<std::vector<std::string>> rows = {
      {},
      {"nodes"},
      {"node", "--quik"},
      {"node", "--memory"},
      {"node", "--memory", "much"},
      {"node", "--phases", "gpu"},
      {"node", "--phases", ""},
      {"node", "--slow-ratio", "0.5"},
      {"net", "--pings", "many"},
      {"node", "--cpu-class", "Z"},
      {"watch", "--ranks", "2"},
      {"watch", "--"},
      {"baseline"},
      {"baseline", "a", "b"},
  };
  for (const auto& args : rows) {
    const auto options = parse_options(args);
    ASSERT_FALSE(options) << (args.empty() ? "no argument" : args.back());
    EXPECT_EQ(options.error().code, ErrorCode::usage);
  }
}

TEST(Options, WatchTakesACommandWithOptionsOfItsOwn) {
  const auto options = parse_options({"watch", "--ranks", "3", "--", "srun", "--quick", "--ranks"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->ranks, 3);
  EXPECT_EQ(options->command, (std::vector<std::string>{"srun", "--quick", "--ranks"}));
}

TEST(Options, HelpNamesEachOption) {
  for (const char* name : {"--quick", "--baseline", "--loss-ratio", "--disk-folder"})
    EXPECT_NE(usage_text().find(name), std::string::npos) << name;
}

}  // namespace
}  // namespace sickbay::verify
