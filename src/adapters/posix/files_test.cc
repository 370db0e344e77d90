// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/files.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sickbay {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sickbay-files-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  static unsigned mode_of(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  std::string folder_;
};

TEST_F(FilesTest, WritesWholeFilesWithTheirMode) {
  const std::string path = folder_ + "/a";
  ASSERT_TRUE(write_durably(path, "one", 0640));
  EXPECT_EQ(mode_of(path), 0640u) << "whatever the umask is";
  ASSERT_TRUE(write_durably(path, std::string("t\0wo", 4), 0600));
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_EQ(read_file(path, 100).value(), std::string("t\0wo", 4));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "nothing is left";
}

TEST_F(FilesTest, ALeftoverOfACrashIsNoHindrance) {
  std::ofstream(folder_ + "/a.new") << "half a fi";
  ASSERT_TRUE(write_durably(folder_ + "/a", "whole", 0600));
  EXPECT_EQ(read_file(folder_ + "/a", 100).value(), "whole");
}

TEST_F(FilesTest, AFullDiskKeepsTheOldFile) {
  ASSERT_EQ(::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=64k"), 0) << "this test needs root";
  const std::string path = folder_ + "/a";
  EXPECT_TRUE(write_durably(path, "old", 0600));
  const auto full = write_durably(path, std::string(100'000, 'x'), 0600);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::storage_full) << full.error().line();
  EXPECT_EQ(read_file(path, 100).value(), "old");
  EXPECT_TRUE(write_durably(path, "new", 0600)) << "the space of the failed one is free again";
  EXPECT_EQ(::umount(folder_.c_str()), 0);
}

TEST_F(FilesTest, SaysWhatIsWrong) {
  EXPECT_EQ(write_durably(folder_ + "/no/a", "x", 0600).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_file(folder_ + "/no", 1).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_file(folder_, 1).error().code, ErrorCode::storage_broken);
  EXPECT_EQ(read_tail(folder_ + "/no", 1).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_tail(folder_, 1).error().code, ErrorCode::storage_broken);
  ASSERT_TRUE(write_durably(folder_ + "/a", "12345", 0600));
  EXPECT_EQ(make_folder(folder_ + "/a/b", 0700).error().code, ErrorCode::not_found);
  EXPECT_EQ(make_folder(folder_ + "/a", 0700).error().code, ErrorCode::not_found);
  EXPECT_EQ(file_error(EACCES, "open", "x").code, ErrorCode::denied);
  EXPECT_EQ(file_error(EDQUOT, "open", "x").code, ErrorCode::storage_full);
  EXPECT_EQ(file_error(EIO, "open", "x").code, ErrorCode::storage_broken);
}

TEST_F(FilesTest, BoundsWhatItReads) {
  const std::string path = folder_ + "/a";
  ASSERT_TRUE(write_durably(path, "12345", 0600));
  EXPECT_EQ(read_file(path, 5).value(), "12345");
  EXPECT_EQ(read_file(path, 4).error().code, ErrorCode::bad_input);
  struct Row {
    std::size_t bytes;
    const char* tail;
  };
  for (const Row& row : {Row{0, ""}, Row{2, "45"}, Row{5, "12345"}, Row{6, "12345"}})
    EXPECT_EQ(read_tail(path, row.bytes).value(), row.tail);
}

TEST_F(FilesTest, MakesFoldersAndLeavesThoseThatAre) {
  const std::string path = folder_ + "/cases/c17";
  ASSERT_TRUE(make_folder(path, 0700));
  EXPECT_EQ(mode_of(path), 0700u);
  ASSERT_TRUE(make_folder(path, 0755));
  EXPECT_EQ(mode_of(path), 0700u);
}

}  // namespace
}  // namespace sickbay
