// SPDX-License-Identifier: Apache-2.0
#include "base/hostlist.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace sickbay {
namespace {

using Names = std::vector<std::string>;
using ::testing::HasSubstr;

Names split(std::string_view text) {
  Names names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

TEST(Hostlist, Expands) {
  const struct {
    const char* text;
    const char* names;
  } rows[] = {
      {"n1", "n1"},
      {"n1,n2", "n1 n2"},
      {"login", "login"},
      {"n[1-3]", "n1 n2 n3"},
      {"n[3]", "n3"},
      {"n[1-2,5,7-8]", "n1 n2 n5 n7 n8"},
      {"n[2,1],n1", "n2 n1 n1"},  // order and repetition kept
      {"[1-3]", "1 2 3"},
      {"a.b-c_d[1-2]", "a.b-c_d1 a.b-c_d2"},

      // The width of the first number holds for the range.
      {"n[07-11]", "n07 n08 n09 n10 n11"},
      {"n[007-9]", "n007 n008 n009"},
      {"n[8-010]", "n8 n9 n10"},
      {"n[99-101]", "n99 n100 n101"},
      {"n[099-101]", "n099 n100 n101"},
      {"n[01,1]", "n01 n1"},
      {"n[0-0]", "n0"},

      // Several brackets: the last one turns fastest.
      {"rack[0-1]n[1-2]", "rack0n1 rack0n2 rack1n1 rack1n2"},
      {"n[1-2][3-4]", "n13 n14 n23 n24"},
      {"a[1-2]b[08-09]c[5]", "a1b08c5 a1b09c5 a2b08c5 a2b09c5"},
      {"n[1-2]-ib", "n1-ib n2-ib"},  // Slurm 22.05 refuses this one
      {"n[1-3,07-09],gpu5,rack[0-1]n[1-2]", "n1 n2 n3 n07 n08 n09 gpu5 rack0n1 rack0n2 rack1n1 rack1n2"},

      {"", ""},
      {" , ", ""},
      {"a,,b", "a b"},
      {" a , b\n", "a b"},
      {"a b\tc", "a b c"},
      {"(null)", ""},
      {"None assigned", ""},

      {"n18446744073709551616", "n18446744073709551616"},
      {"n[999999999999999998-999999999999999999]", "n999999999999999998 n999999999999999999"},
  };
  for (const auto& row : rows) {
    const auto names = expand_hostlist(row.text);
    ASSERT_TRUE(names) << row.text << ": " << names.error().line();
    EXPECT_EQ(*names, split(row.names)) << row.text;
  }
}

TEST(Hostlist, RefusesWithColumnAndRemedy) {
  const struct {
    std::string text;
    const char* what;
  } rows[] = {
      {"n[1", "column 2: '[' is never closed"},
      {"n[", "column 2: '[' is never closed"},
      {"n[1-", "column 2: '[' is never closed"},
      {"a,n[1,", "column 4: '[' is never closed"},
      {"n1]", "column 3: ']' without '['"},
      {"n[]", "column 3: ']' where a number must stand"},
      {"n[1-]", "column 5: ']' where a number must stand"},
      {"n[-1]", "column 3: '-' where a number must stand"},
      {"n[1,,2]", "column 5: ',' where a number must stand"},
      {"n[1, 2]", "column 5: ' ' where a number must stand"},
      {"n[a-c]", "column 3: 'a' where a number must stand"},
      {"n[[1-2]]", "column 3: '[' where a number must stand"},
      {"n[1-2-3]", "column 6: '-' cannot stand"},
      {"n[0x1-3]", "column 4: 'x' cannot stand"},
      {"n[1-3/2]", "column 6: '/' cannot stand"},
      {"n[3-1]", "column 3: the range 3-1 runs backwards"},
      {"n1;reboot", "column 3: ';' cannot stand"},
      {"n1$(id)", "column 3: '$' cannot stand"},
      {std::string("n\0", 2), "column 2: '\\x00' cannot stand"},
      {"n\xc3\xa4", "column 2: '\\xc3' cannot stand"},

      {"n[0-999999999]", "column 3: more than 4000000 names"},
      {"n[0-3999999],x", "column 14: more than 4000000 names"},
      {"n[0-2000000,0-2000000]", "column 13: more than 4000000 names"},
      {"n[0-999][0-999][0-9]", "column 16: more than 4000000 names"},
      {"n[1-1000000000000000000]", "column 5: a number of 19 digits"},
      {std::string(256, 'n'), "column 1: a name of 256 bytes"},
      {"a," + std::string(250, 'n') + "[000001]", "column 3: a name of 256 bytes"},
  };
  for (const auto& row : rows) {
    const auto names = expand_hostlist(row.text);
    ASSERT_FALSE(names) << row.text;
    EXPECT_EQ(names.error().code, ErrorCode::bad_input);
    EXPECT_THAT(names.error().what, HasSubstr(row.what)) << row.text;
    EXPECT_FALSE(names.error().remedy_text.empty()) << row.text;
  }
  EXPECT_EQ(expand_hostlist("n[1-").error().message("sickbay"),
            "sickbay: error: hostlist 'n[1-', column 2: '[' is never closed\n"
            "  remedy: close it with ']'; in a shell put the hostlist in quotes");
}

TEST(Hostlist, CallersSetALowerBound) {
  EXPECT_EQ(expand_hostlist("n[1-4]", 4)->size(), 4U);
  EXPECT_FALSE(expand_hostlist("n[1-5]", 4));
  EXPECT_FALSE(expand_hostlist("n[1-4],n5", 4));
}

TEST(Hostlist, Compresses) {
  const struct {
    const char* names;
    const char* text;
  } rows[] = {
      {"", ""},
      {"n1", "n1"},
      {"n1 n2", "n[1-2]"},
      {"n10 n2 n1 n1 n3", "n[1-3,10]"},
      {"b2 a1 b1 a2", "a[1-2],b[1-2]"},
      {"login b a", "a,b,login"},
      {"n n1 n2", "n,n[1-2]"},
      {"n1x n2x", "n1x,n2x"},  // Slurm 22.05 does not read n[1-2]x
      {"n1-1 n1-2", "n1-[1-2]"},
      {"1 2 3", "[1-3]"},

      // Widths: those of one range are written alike.
      {"n9 n10 n11", "n[9-11]"},
      {"n09 n10 n11", "n[09-11]"},
      {"n08 n09 n10 n099 n100", "n[08-10,099-100]"},
      {"n01 n1 n2 n02", "n[1-2,01-02]"},
      {"n0 n00 n000", "n[0,00,000]"},
      {"n99 n100 n0101", "n[99-100,0101]"},

      // The same nodes in successive racks.
      {"r1n1 r1n2 r2n1 r2n2", "r[1-2]n[1-2]"},
      {"r1n1 r2n1 r10n1", "r[1-2,10]n1"},
      {"r9n1 r10n1 r11n1 r12n2", "r[9-11]n1,r12n2"},
      {"r1n1 r1n2 r2n1", "r1n[1-2],r2n1"},
      {"a1r1n1 a1r2n1 a2r1n1", "a1r[1-2]n1,a2r1n1"},
      {"r1n r2n r1n1 r2n1", "r1n,r1n1,r2n,r2n1"},

      {"n999999999999999999 n1000000000000000000", "n999999999999999999,n1000000000000000000"},
      {"n18446744073709551615 n18446744073709551616", "n18[446744073709551615-446744073709551616]"},
  };
  for (const auto& row : rows) {
    Names names = split(row.names);
    EXPECT_EQ(compress_hostlist(names), row.text);
    std::reverse(names.begin(), names.end());
    EXPECT_EQ(compress_hostlist(names), row.text) << "reversed";
  }
  EXPECT_EQ(compress_hostlist(Names{"", "a", ""}), "a");
}

// Slurm reads no longer range than 65536 numbers.
TEST(Hostlist, RangesAreNoLongerThanSlurmReads) {
  const auto names = expand_hostlist("n[0-70000]");
  EXPECT_EQ(compress_hostlist(*names), "n[0-65535,65536-70000]");
}

TEST(Hostlist, OrderIsNatural) {
  const Names sorted =
      split("1 2 10 a a1 a2 a01 a10 a001 a2b1 a10b1 b n n1 n2 n9 n10 n011 r r2n2 r2n10 r10n1 rack");
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (std::size_t j = 0; j < sorted.size(); ++j)
      EXPECT_EQ(host_less(sorted[i], sorted[j]), i < j) << sorted[i] << " " << sorted[j];
}

// Any set of names comes back: random names of few letters, so that prefixes and widths collide.
TEST(Hostlist, RoundTripOfRandomSets) {
  std::mt19937 random(20261121);
  constexpr std::string_view kLetters = "ab0019-.";
  for (int round = 0; round < 2000; ++round) {
    Names names;
    for (unsigned n = random() % 40; n > 0; --n) {
      std::string name;
      for (unsigned length = 1 + random() % (round % 2 == 0 ? 6 : 30); length > 0; --length)
        name += kLetters[random() % kLetters.size()];
      names.push_back(name);
    }
    const std::string text = compress_hostlist(names);
    const Names sorted = sorted_hosts(names);
    EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end(), host_less)) << text;
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
              std::set<std::string>(sorted.begin(), sorted.end()));
    const auto back = expand_hostlist(text);
    ASSERT_TRUE(back) << text << back.error().line();
    ASSERT_EQ(*back, sorted) << text;
    EXPECT_EQ(compress_hostlist(sorted), text);
  }
}

TEST(Hostlist, Sets) {
  const Names a = sorted_hosts(split("n3 n1 n10 n2 n1"));
  const Names b = sorted_hosts(split("n10 n4 n2"));
  EXPECT_EQ(a, split("n1 n2 n3 n10"));
  EXPECT_EQ(hosts_in_either(a, b), split("n1 n2 n3 n4 n10"));
  EXPECT_EQ(hosts_in_both(a, b), split("n2 n10"));
  EXPECT_EQ(hosts_without(a, b), split("n1 n3"));
  EXPECT_TRUE(has_host(a, "n10"));
  EXPECT_FALSE(has_host(a, "n4"));
  EXPECT_FALSE(has_host({}, "n4"));
}

TEST(Hostlist, AMillionNames) {
  const auto names = expand_hostlist("rack[000-999]n[000-999]");
  ASSERT_TRUE(names);
  ASSERT_EQ(names->size(), 1'000'000U);
  EXPECT_EQ(names->front(), "rack000n000");
  EXPECT_EQ(names->back(), "rack999n999");
  EXPECT_EQ(compress_hostlist(*names), "rack[000-999]n[000-999]");
}

}  // namespace
}  // namespace sickbay
