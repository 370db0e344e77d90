// SPDX-License-Identifier: Apache-2.0
#include "base/pattern.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Pattern, FitsWhatItsFormSays) {
  const struct {
    const char* pattern;
    const char* text;
    bool fits;
  } rows[] = {
      {"sshd", "sshd", true},
      {"sshd", "/usr/sbin/sshd", false},
      {"*sshd", "/usr/sbin/sshd", true},
      {"*", "", true},
      {"!root", "root", false},
      {"!root", "alice", true},
      {"n[0-3]", "n2", true},
      {"n[0-3]", "n[0-3]", false},
      {"+(ab)", "abab", true},  // as [[ ]] does, whatever the shell's options
      {"/^UP /", "UP BROADCAST", true},
      {"/^[[:space:]]*UP /", "  UP x", true},
      {"/addr:10\\.0\\.0\\.1/", "inet addr:10.0.0.1  Bcast", true},
      {"/addr:10\\.0\\.0\\.1/", "inet addr:10x0.0.1", false},
      {"!/^root/", "root:x", false},
      {"/\\bslurmstepd\\b/", "slurmstepd: [17.0]", true},
      {"/[0-9]{1,3}\\.[0-9]{1,3}/", "10.0", true},
      {"/[]{}]/", "}", true},
      {"/^[[]{2}$/", "[[", true},
      {"/[^]{999}]/", "x", true},  // in a set a brace is one
      {"/[[:digit:]{999}]/", "{", true},
      {"{n[01-10],login1}", "n07", true},
      {"{n[01-10],login1}", "n7", false},
      {"!{n[01-10]}", "n11", true},
      {"/", "/", true},  // one slash is a glob
      {"/home", "/home", true},
  };
  for (const auto& row : rows) {
    const auto pattern = Pattern::parse(row.pattern);
    ASSERT_TRUE(pattern) << row.pattern << ": " << pattern.error().what;
    EXPECT_EQ(pattern->fits(row.text), row.fits) << row.pattern << " and " << row.text;
  }
}

TEST(Pattern, AGroupTakesAPart) {
  const struct {
    const char* pattern;
    const char* text;
    const char* part;  // null: none fits
  } rows[] = {
      {"/rate: ([0-9.]+) MB/", "write rate: 812.5 MB/s", "812.5"},
      {"/rate: ([0-9.]+) MB/", "no such line", nullptr},
      {"/[0-9]+/", "17 of 20", "17"},
      {"/^(a)|^b/", "b", ""},
      {"/x*/", "", ""},
      {"/(.*)/", "all of it", "all of it"},
  };
  for (const auto& row : rows) {
    const auto pattern = Pattern::parse(row.pattern, true);
    ASSERT_TRUE(pattern) << row.pattern;
    const auto part = pattern->part_of(row.text);
    EXPECT_EQ(part.has_value(), row.part != nullptr) << row.pattern;
    if (part && row.part != nullptr) {
      EXPECT_EQ(*part, row.part) << row.pattern;
    }
  }
  for (const char* none : {"a*", "!/a/", "{n1}", ""}) EXPECT_FALSE(Pattern::parse(none, true)) << none;
  const std::string far = std::string(kMostParted, ' ') + "7";
  EXPECT_FALSE(Pattern::parse("/[0-9]/", true)->part_of(far)) << "it is cut before";
}

TEST(Pattern, WhatCostsTooMuchIsRefused) {
  const std::pair<std::string, const char*> rows[] = {
      {"/(/", "the pattern '/(/' is no expression"},
      {"/(a*)\\1/", "the pattern '/(a*)\\\\1/' has a back reference"},
      {"/((a{1,20}){1,20})/", "the pattern '/((a{1,20}){1,20})/' repeats too often"},
      // A '[' in a set is a member of it, wherever it stands: the next ']' ends the set.
      {"/[[](a{255}){255}/", "repeats too often"},
      {"/[^[](a{255}){255}/", "repeats too often"},
      {"/[a[](a{255}){255}/", "repeats too often"},
      {"/[]](a{255}){255}/", "repeats too often"},
      {"/[^]](a{255}){255}/", "repeats too often"},
      {"/[[:digit:]](a{255}){255}/", "repeats too often"},
      {"/[[.].]](a{255}){255}/", "repeats too often"},
      {"/[[=]=]](a{255}){255}/", "repeats too often"},
      {"/[[](a)\\1/", "has a back reference"},
      {"{n[1-}", "the pattern '{n[1-}' is no list of names: "},
      {std::string(kMostPattern + 1, 'a'), "is too long"},
      {std::string("a\0b", 3), "holds a zero byte"},
  };
  for (const auto& [written, why] : rows) {
    const auto pattern = Pattern::parse(written);
    ASSERT_FALSE(pattern) << written;
    EXPECT_NE(pattern.error().what.find(why), std::string::npos) << pattern.error().what;
  }
}

TEST(Patterns, ALineForEachAndNoneForTheNegated) {
  const auto lines = lines_of("eth3 Link\r\n  UP BROADCAST\nMTU 1500");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "eth3 Link");
  const auto missed = [&](const char* patterns) {
    return Patterns::parse(patterns).value().missed_by(lines).value_or("none");
  };
  EXPECT_EQ(missed("*UP*\n/MTU/"), "none");
  EXPECT_EQ(missed("*UP*\n\n/MTU 9000/\n/x/"), "/MTU 9000/");
  EXPECT_EQ(missed("!/MTU 1500/"), "!/MTU 1500/");
  EXPECT_EQ(missed("!/MTU 9000/"), "none");
  EXPECT_EQ(missed(""), "none");
  EXPECT_FALSE(Patterns::parse("ok\n/(/"));
}

}  // namespace
}  // namespace sickbay
