// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/sim_folders.h"

#include <gtest/gtest.h>

namespace sickbay::sim {
namespace {

class SimFoldersTest : public testing::Test {
 protected:
  SimFolders folders;

  Json prepare(const std::string& how = "copy") {
    return folders.answer(Json::object({{"do", "prepare"},
                                        {"how", how},
                                        {"from", "/s/a"},
                                        {"to", "/s/a/sickbay-c1/r2"},
                                        {"inputs", inputs},
                                        {"ran", ran},
                                        {"max_bytes", 1000},
                                        {"max_files", 10}}));
  }
  Json ran = Json::array();
  Json inputs = Json::array().push(
      Json::object({{"path", "/s/a/in"}, {"digest", folders.file("/s/a/in")->digest}, {"size", 1000}}));
};

TEST_F(SimFoldersTest, ACopyIsMadeWithinItsBounds) {
  folders.set_size("/s/a", {.bytes = 900, .files = 9});
  EXPECT_EQ(prepare("same")["folder"].as_string(), "");
  EXPECT_TRUE(folders.copies().empty());
  const Json said = prepare();
  EXPECT_EQ(said["folder"].as_string(), "/s/a/sickbay-c1/r2");
  EXPECT_EQ(said["bytes"].as_int(), 900);
  EXPECT_FALSE(said["too_large"].as_bool());
  EXPECT_EQ(folders
                .answer(Json::object(
                    {{"do", "clean"}, {"folders", Json::array().push("/s/a/sickbay-c1/r2")}}))["removed"]
                .as_int(),
            1);
  EXPECT_TRUE(folders.copies().empty());
}

TEST_F(SimFoldersTest, WhatIsTooMuchIsNotCopied) {
  folders.set_size("/s/a", {.bytes = 1001, .files = 1});
  EXPECT_TRUE(prepare()["too_large"].as_bool());
  folders.set_size("/s/a", {.bytes = 1, .files = 11});
  EXPECT_TRUE(prepare()["too_large"].as_bool());
  folders.set_size("/s/a", {.bytes = 600, .files = 1});
  folders.fill_in_next_copy();
  EXPECT_NE(prepare()["why"].as_string().find("No space left on device"), std::string::npos);
  EXPECT_EQ(prepare()["why"].as_string(), "");
  folders.set_free(1000);
  EXPECT_EQ(prepare()["why"].as_string(), "a copy takes 600 bytes, and 1000 are free there");
  EXPECT_FALSE(prepare()["too_large"].as_bool());
}

TEST_F(SimFoldersTest, WhatARunWroteIsNoChange) {
  folders.edit("/s/a/in", from_unix_seconds(5));
  ran = Json::array({Json::object({{"from", 4'000'000}, {"to", 6'000'000}})});
  const Json said = prepare();
  EXPECT_EQ(said["changed"].size(), 0U);
  EXPECT_EQ(said["noted"].items().at(0)["how"].as_string(), "by_run");
  EXPECT_EQ(said["folder"].as_string(), "/s/a/sickbay-c1/r2");
}

TEST_F(SimFoldersTest, ChangesOfInputsAreSaid) {
  EXPECT_EQ(prepare()["changed"].size(), 0U);
  folders.edit("/s/a/in", from_unix_seconds(5));
  for (const char* how : {"copy", "same"}) {
    const Json said = prepare(how);
    ASSERT_EQ(said["changed"].size(), 1U);
    EXPECT_EQ(said["changed"].items()[0]["how"].as_string(), "content");
    EXPECT_EQ(said["folder"].as_string(), "");
  }
  folders.remove("/s/a/in");
  EXPECT_EQ(prepare()["noted"].items()[0]["how"].as_string(), "gone");
  EXPECT_EQ(prepare()["folder"].as_string(), "/s/a/sickbay-c1/r2");
  folders.remove("/s/a");
  EXPECT_EQ(prepare()["error"]["code"].as_string(), "not_found");
  EXPECT_TRUE(folders.is_there("/s/ab"));
}

}  // namespace
}  // namespace sickbay::sim
