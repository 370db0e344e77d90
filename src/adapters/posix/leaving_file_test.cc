// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/leaving_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace sickbay {
namespace {

class LeavingFileTest : public testing::Test {
 protected:
  LeavingFileTest() {
    std::string name = testing::TempDir() + "/leaving.XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~LeavingFileTest() override { std::filesystem::remove_all(root_); }
  static unsigned mode(const std::string& path) {
    struct ::stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  std::string root_;
};

TEST_F(LeavingFileTest, IsWrittenReplacedAndRemoved) {
  const std::string path = root_ + "/run/agent/leaving";
  const LeavingFile file(path);
  EXPECT_FALSE(file.shown());
  EXPECT_TRUE(file.show(std::nullopt)) << "there is none, not even its folder";
  const ::mode_t before = ::umask(077);  // whatever the agent was started with
  EXPECT_TRUE(file.show(from_micros(17)));
  ::umask(before);
  EXPECT_EQ(file.shown(), from_micros(17));
  EXPECT_EQ(mode(path), 0644U) << "any user reads it";
  EXPECT_EQ(mode(root_ + "/run/agent"), 0755U);
  EXPECT_TRUE(file.show(from_micros(18)));
  EXPECT_EQ(LeavingFile(path).shown(), from_micros(18)) << "an agent that was started anew sees it";
  EXPECT_TRUE(file.show(std::nullopt));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(LeavingFileTest, WhatNoAgentWroteIsNothing) {
  const std::string path = root_ + "/leaving";
  std::ofstream(path) << "soon\n";
  EXPECT_FALSE(LeavingFile(path).shown());
  std::ofstream(path) << std::string(5000, '1');
  EXPECT_FALSE(LeavingFile(path).shown());
}

TEST_F(LeavingFileTest, WhereItCannotBeThatIsToldAndWhatIsThereStays) {
  std::ofstream(root_ + "/file") << "x";
  EXPECT_FALSE(LeavingFile(root_ + "/file/leaving").show(from_micros(17)));
}

}  // namespace
}  // namespace sickbay
