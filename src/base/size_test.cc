// SPDX-License-Identifier: Apache-2.0
#include "base/size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sickbay {
namespace {

using ::testing::HasSubstr;

TEST(Size, ParsesAndPrints) {
  const struct {
    const char* text;
    BareUnit bare;
    Bytes size;
    const char* printed;
  } rows[] = {
      {"4000", BareUnit::mib, mib(4000), "4000M"},
      {"4000", BareUnit::bytes, {4000}, "4000B"},
      {"4", BareUnit::kib, kib(4), "4K"},
      {"0", BareUnit::mib, {0}, "0B"},
      {"4000M", BareUnit::bytes, mib(4000), "4000M"},
      {"12756K", BareUnit::bytes, kib(12756), "12756K"},
      {"199G", BareUnit::bytes, gib(199), "199G"},
      {"1.50T", BareUnit::bytes, gib(1536), "1536G"},
      {"0.04M", BareUnit::bytes, {41943}, "41943B"},      // 41943.04
      {"1.19M", BareUnit::bytes, {1247805}, "1247805B"},  // 1247805.44
      {"0.5", BareUnit::mib, kib(512), "512K"},
      {"2P", BareUnit::bytes, gib(2 << 20), "2P"},
      {"7E", BareUnit::bytes, gib(7LL << 30), "7E"},

      {"4g", BareUnit::bytes, gib(4), "4G"},
      {"4GB", BareUnit::bytes, gib(4), "4G"},
      {"4GiB", BareUnit::bytes, gib(4), "4G"},
      {"100b", BareUnit::mib, {100}, "100B"},
      {"9223372036854775807B",
       BareUnit::bytes,
       {std::numeric_limits<std::int64_t>::max()},
       "9223372036854775807B"},
  };
  for (const auto& row : rows) {
    const auto size = parse_size(row.text, row.bare);
    ASSERT_TRUE(size) << row.text << ": " << size.error().line();
    EXPECT_EQ(size->count, row.size.count) << row.text;
    EXPECT_EQ(format_size(*size), row.printed);
    EXPECT_EQ(parse_size(row.printed, BareUnit::mib).value(), *size);
  }
}

TEST(Size, Refuses) {
  const struct {
    const char *text, *what;
  } rows[] = {
      {"", "'' is not a size"},
      {"M", "'M' is not a size"},
      {".5G", "'.5G' is not a size"},
      {"5.G", "'5.G' is not a size"},
      {"-1", "'-1' is not a size"},
      {"4 G", "'4 G' is not a size"},
      {"4X", "'4X' is not a size"},
      {"4Gi", "'4Gi' is not a size"},
      {"4GBB", "'4GBB' is not a size"},
      {"4BB", "'4BB' is not a size"},
      {"4Gn", "'4Gn' is not a size"},  // only where per node has a meaning
      {"1.0123456789G", "more than nine digits"},
      {"8E", "'8E' is too big"},
      {"7.9999999999E", "more than nine digits"},
      {"9223372036854775808B", "is too big"},
      {"99999999999999999999", "is too big"},
  };
  for (const auto& row : rows) {
    const auto size = parse_size(row.text, BareUnit::bytes);
    ASSERT_FALSE(size) << row.text;
    EXPECT_THAT(size.error().what, HasSubstr(row.what));
    EXPECT_THAT(size.error().remedy_text, HasSubstr("4000M"));
  }
}

TEST(Memory, ParsesAndPrints) {
  const struct {
    const char* text;
    Memory memory;
    const char* printed;
  } rows[] = {
      {"4000M", {mib(4000), MemoryPer::unstated}, "4000M"},
      {"4Gn", {gib(4), MemoryPer::node}, "4Gn"},
      {"4Gc", {gib(4), MemoryPer::cpu}, "4Gc"},
      {"0n", {{0}, MemoryPer::node}, "0Bn"},
      {"2000c", {mib(2000), MemoryPer::cpu}, "2000Mc"},
      {"1.50Tn", {gib(1536), MemoryPer::node}, "1536Gn"},
  };
  for (const auto& row : rows) {
    const auto memory = parse_memory(row.text, BareUnit::mib);
    ASSERT_TRUE(memory) << row.text << ": " << memory.error().line();
    EXPECT_EQ(*memory, row.memory) << row.text;
    EXPECT_EQ(format_memory(*memory), row.printed);
    EXPECT_EQ(parse_memory(row.printed, BareUnit::mib).value(), *memory);
  }
  for (const char* text : {"4Gx", "4Gnc", "n", "4GN", "?"})
    EXPECT_FALSE(parse_memory(text, BareUnit::mib)) << text;
}

TEST(Size, ForSlurmAndForPeople) {
  EXPECT_EQ(format_slurm_memory({0}), "0M");
  EXPECT_EQ(format_slurm_memory({1}), "1M");
  EXPECT_EQ(format_slurm_memory(gib(4)), "4096M");
  const struct {
    Bytes size;
    const char* text;
  } rows[] = {
      {{0}, "0 bytes"},
      {{1}, "1 byte"},
      {{1023}, "1023 bytes"},
      {kib(1), "1 KiB"},
      {gib(1536), "1.5 TiB"},
      {mib(850), "850 MiB"},
      {mib(10239), "9.9 GiB"},
      {mib(10752), "10 GiB"},
      {{-2048}, "-2 KiB"},
      {{1025}, "1 KiB"},
      {{std::numeric_limits<std::int64_t>::max()}, "7.9 EiB"},
      {{std::numeric_limits<std::int64_t>::min()}, "-7.9 EiB"},
  };
  for (const auto& row : rows) EXPECT_EQ(describe_size(row.size), row.text);
}

}  // namespace
}  // namespace sickbay
