// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/case_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class CaseFoldersTest : public ::testing::Test {
 protected:
  CaseFoldersTest() {
    char name[] = "/tmp/sickbay_cases_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~CaseFoldersTest() override { fs::remove_all(folder_); }
  static Submission submission() {
    Submission s;
    s.script = "#!/bin/sh\n";
    s.script_name = "job.sh";
    s.work_dir = "/home/alice";
    s.environment = {"TOKEN=secret"};
    return s;
  }
  std::string folder_;
};

TEST_F(CaseFoldersTest, KeepsASubmissionForRootAloneUntilItIsRemoved) {
  CaseFolders cases(folder_);
  ASSERT_TRUE(cases.save(17, submission()));
  ASSERT_TRUE(cases.save(3, submission()));
  struct stat file;
  ASSERT_EQ(::stat((folder_ + "/c17").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0700U);
  ASSERT_EQ(::stat((folder_ + "/c17/submission.json").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600U);
  EXPECT_EQ(cases.load(17).value(), submission());

  std::ofstream(folder_ + "/c17/submission.json.new") << "the beginning of a write that a crash cut sh";
  fs::create_directory(folder_ + "/lost+found");
  EXPECT_THAT(cases.list().value(), UnorderedElementsAre(3, 17));
  EXPECT_TRUE(cases.remove(17));
  EXPECT_FALSE(fs::exists(folder_ + "/c17"));
  EXPECT_TRUE(cases.remove(17)) << "it is not there, which is what was wanted";
  EXPECT_EQ(cases.load(17).error().code, ErrorCode::not_found);
  EXPECT_THAT(cases.list().value(), UnorderedElementsAre(3));
}

TEST_F(CaseFoldersTest, WhatCannotBeSavedLeavesNothing) {
  CaseFolders cases(folder_);
  Submission long_one = submission();
  long_one.script = std::string(4 << 20, '\x7f');  // six bytes each in a file of JSON
  const Status refused = cases.save(1, long_one);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  // A folder in the place of the file stands for a disk that takes folders and no more.
  fs::create_directories(folder_ + "/c2/submission.json/x");
  ASSERT_FALSE(cases.save(2, submission()));
  EXPECT_THAT(cases.list().value(), IsEmpty());
}

TEST_F(CaseFoldersTest, AFolderThatCannotBeReadIsAnError) {
  const CaseFolders cases(folder_ + "/none");
  const auto listed = cases.list();
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace sickbay
