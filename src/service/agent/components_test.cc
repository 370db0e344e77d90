// SPDX-License-Identifier: Apache-2.0
#include "service/agent/components.h"

#include <gmock/gmock.h>

#include "engine/diagnose/specification.h"

namespace sickbay::agent {
namespace {

using testing::HasSubstr;

Result<std::vector<ComponentSpec>> read(std::vector<std::string> texts) {
  std::vector<diagnose::SpecificationFile> files;
  for (std::string& text : texts)
    files.push_back({"c" + std::to_string(files.size()) + ".json", std::move(text)});
  return read_components(files);
}
std::string of(const std::string& name, const std::string& more = "") {
  return R"({"component": ")" + name + R"(", "check": ["/bin/true"], "restart": ["/bin/true", "-x"])" + more +
         "}";
}

TEST(Components, AreRead) {
  const auto read_ones = read({of("slurmd", R"(, "needs": ["munged"], "takes": "5s", "within": "2m")"),
                               of("munged", R"(, "description": "credentials")")});
  ASSERT_TRUE(read_ones) << read_ones.error().line();
  ASSERT_EQ(read_ones->size(), 2u);
  EXPECT_EQ((*read_ones)[0].name, "munged");
  const ComponentSpec& slurmd = (*read_ones)[1];
  EXPECT_THAT(slurmd.restart, testing::ElementsAre("/bin/true", "-x"));
  EXPECT_THAT(slurmd.needs, testing::ElementsAre("munged"));
  EXPECT_EQ(slurmd.takes, std::chrono::seconds(5));
  EXPECT_EQ(slurmd.within, std::chrono::minutes(2));
  EXPECT_EQ(slurmd.timeout, std::chrono::seconds(60));
  EXPECT_EQ(
      components_view(*read_ones).dump(),
      R"([{"name":"munged","needs":[],"takes_us":0},{"name":"slurmd","needs":["munged"],"takes_us":5000000}])");
  EXPECT_TRUE(read({})->empty());
}

TEST(Components, TheLaterOfTwoFilesStands) {
  const auto ones = read({of("slurmd", R"(, "takes": "5s")"), of("slurmd", R"(, "takes": "7s")")});
  ASSERT_TRUE(ones);
  ASSERT_EQ(ones->size(), 1u);
  EXPECT_EQ((*ones)[0].takes, std::chrono::seconds(7));
}

TEST(Components, WhatIsWrongIsSaidWithItsPlace) {
  const struct {
    std::string text;
    const char* said;
  } rows[] = {
      {"{", "c0.json:1:"},
      {R"({"component": "a", "check": ["/x"]})", "lacks the key 'restart'"},
      {R"({"component": "a b", "check": ["/x"], "restart": ["/x"]})", "key 'component'"},
      {R"({"component": "a", "check": "/x", "restart": ["/x"]})", "must be a list"},
      {R"({"component": "a", "check": [], "restart": ["/x"]})", "must be a list"},
      {R"({"component": "a", "check": ["x"], "restart": ["/x"]})", "must be an absolute path"},
      {R"({"component": "a", "check": ["/x", 3], "restart": ["/x"]})", "must be a text"},
      {of("a", R"(, "within": "2h")"), "key 'within'"},
      {of("a", R"(, "need": ["b"])"), "did you mean 'needs'"},
      {of("a", R"(, "needs": ["b"])"), "needs b, which no file describes"},
      {of("a", R"(, "needs": ["a"])"), "needs itself"},
  };
  for (const auto& row : rows) {
    const auto ones = read({row.text});
    ASSERT_FALSE(ones) << row.text;
    EXPECT_THAT(ones.error().message("x"), HasSubstr(row.said)) << row.text;
    EXPECT_THAT(ones.error().message("x"), HasSubstr("c0.json:1:")) << row.text;
  }
  const auto ring =
      read({of("a", R"(, "needs": ["b"])"), of("b", R"(, "needs": ["c"])"), of("c", R"(, "needs": ["a"])")});
  ASSERT_FALSE(ring);
  EXPECT_THAT(ring.error().message("x"), HasSubstr("needs itself, by what it needs"));
}

}  // namespace
}  // namespace sickbay::agent
