// SPDX-License-Identifier: Apache-2.0
#include "workload/store/store_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sickbay::workload {
namespace {

namespace fs = std::filesystem;

class StorePath : public testing::Test {
 protected:
  StorePath() {
    char name[] = "/tmp/sickbay-path-XXXXXX";
    home_ = mkdtemp(name);
    ::setenv("HOME", home_.c_str(), 1);
    ::unsetenv("SICKBAY_STORE");
  }
  ~StorePath() override {
    ::unsetenv("SICKBAY_STORE");
    fs::remove_all(home_);
  }
  std::string home_;
};

TEST_F(StorePath, WhatIsSaidGoesBeforeTheEnvironmentAndThatBeforeHome) {
  EXPECT_EQ(*store_path(), home_ + "/.local/share/sickbay/jobs.duckdb");
  ::setenv("SICKBAY_STORE", "/elsewhere/a.duckdb", 1);
  EXPECT_EQ(*store_path(), "/elsewhere/a.duckdb");
  EXPECT_EQ(*store_path("given.duckdb"), "given.duckdb");
  ::unsetenv("SICKBAY_STORE");
  ::unsetenv("HOME");
  EXPECT_EQ(store_path().error().code, ErrorCode::usage);
  EXPECT_EQ(*store_path("given.duckdb"), "given.duckdb");
}

TEST_F(StorePath, MakesTheFoldersOfTheDefaultOnly) {
  EXPECT_EQ(*store_path_to_make("no/such/a.duckdb"), "no/such/a.duckdb");
  EXPECT_TRUE(fs::is_empty(home_));
  const std::string folder = home_ + "/.local/share/sickbay";
  EXPECT_EQ(*store_path_to_make(), folder + "/jobs.duckdb");
  struct stat status {};
  ASSERT_EQ(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_TRUE(store_path_to_make()) << "a second time";
  fs::remove_all(home_ + "/.local");
  std::ofstream(home_ + "/.local") << "a file";
  EXPECT_EQ(store_path_to_make().error().code, ErrorCode::storage_broken);
}

}  // namespace
}  // namespace sickbay::workload
