// SPDX-License-Identifier: Apache-2.0
// Real files in a folder of the test's own.
#include "apps/cli/undo/objects.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "apps/cli/undo/record.h"
#include "base/digest/sha256.h"

namespace sickbay::cli {
namespace {

namespace fs = std::filesystem;

class ObjectsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sickbay-objects.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top = name;
  }
  void TearDown() override { fs::remove_all(top); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(top + "/" + name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(top + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  unsigned mode(const std::string& path) const {
    struct stat about = {};
    return ::lstat(path.c_str(), &about) == 0 ? about.st_mode & 07777U : 0;
  }
  Objects made() const {
    Objects objects(top);
    const auto ok = objects.make();
    EXPECT_TRUE(ok) << ok.error().line();
    return objects;
  }
  std::string top;
};

TEST_F(ObjectsTest, WhatIsKeptComesBack) {
  const std::string binary("a\0b\n\xff", 5);
  write("in.dat", binary);
  const Objects objects = made();
  const auto digest = objects.keep_file(top + "/in.dat");
  ASSERT_TRUE(digest) << digest.error().line();
  EXPECT_EQ(*digest, sha256_hex(binary));
  EXPECT_EQ(*objects.keep_file(top + "/in.dat"), *digest) << "kept once";
  EXPECT_EQ(*objects.keep_text(binary), *digest) << "by its contents, not by its name";
  write("in.dat", "spoilt");
  ASSERT_TRUE(objects.put_back(*digest, top + "/in.dat", 0640));
  EXPECT_EQ(read("in.dat"), binary);
  EXPECT_EQ(mode(top + "/in.dat"), 0640U);
  EXPECT_EQ(*objects.read(*digest, 100), binary);
  for (const auto& entry : fs::directory_iterator(top))
    EXPECT_TRUE(entry.path().filename() == "in.dat" || entry.path().filename() == ".sickbay") << entry.path();
}

TEST_F(ObjectsTest, ItIsItsUsersAlone) {
  write("key", "secret");
  const Objects objects = made();
  const auto digest = objects.keep_file(top + "/key");
  ASSERT_TRUE(digest);
  EXPECT_EQ(mode(objects.folder()), 0700U);
  EXPECT_EQ(mode(objects.path_of(*digest)), 0600U);
  fs::permissions(objects.folder(), fs::perms::all);
  EXPECT_EQ(objects.make().error().code, ErrorCode::denied);
  // A link would let another one choose where it goes.
  fs::remove_all(objects.folder());
  fs::create_directory(top + "/elsewhere");
  fs::create_directory_symlink(top + "/elsewhere", objects.folder());
  EXPECT_EQ(objects.make().error().code, ErrorCode::denied);
}

TEST_F(ObjectsTest, DamageIsNeverPutBack) {
  const Objects objects = made();
  const std::string digest = *objects.keep_text("right");
  std::ofstream(objects.path_of(digest)) << "wrong";
  write("in.dat", "as it is");
  const auto back = objects.put_back(digest, top + "/in.dat", 0600);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::conflict);
  EXPECT_EQ(read("in.dat"), "as it is");
  EXPECT_FALSE(objects.read(digest, 100));
  // Kept again it is whole again.
  EXPECT_EQ(*objects.keep_text("right"), digest);
  EXPECT_TRUE(objects.check(digest));
  EXPECT_EQ(objects.check(sha256_hex("never seen")).error().code, ErrorCode::not_found);
  EXPECT_FALSE(objects.put_back(sha256_hex("never seen"), top + "/in.dat", 0600));
  EXPECT_EQ(read("in.dat"), "as it is");
}

TEST_F(ObjectsTest, WhatIsNoFileIsNotKept) {
  const Objects objects = made();
  EXPECT_EQ(objects.keep_file(top).error().code, ErrorCode::bad_input);
  EXPECT_EQ(objects.keep_file(top + "/none").error().code, ErrorCode::not_found);
  ASSERT_EQ(::mkfifo((top + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(objects.keep_file(top + "/pipe").error().code, ErrorCode::bad_input);
}

TEST_F(ObjectsTest, TheFileBehindALinkChanges) {
  const Objects objects = made();
  const std::string digest = *objects.keep_text("old");
  write("real", "new");
  fs::create_symlink("real", top + "/link");
  ASSERT_TRUE(objects.put_back(digest, top + "/link", 0600));
  EXPECT_TRUE(fs::is_symlink(top + "/link"));
  EXPECT_EQ(read("real"), "old");
}

TEST_F(ObjectsTest, ARecordIsReadAgainForItsOwnSubmissionAlone) {
  const Objects objects = made();
  Record record{"c17", sha256_hex("script"), "/home/alice/job.sh", {"--record"}, {}, {}};
  record.submission.owner = {"alice", 60001, 60001};
  record.submission.script = "#!/bin/sh\ntrue\n";
  record.submission.script_name = "job.sh";
  record.submission.work_dir = top;
  record.submission.environment = {"A=1"};
  record.files = {{top + "/in.dat", sha256_hex("in"), 0640}};
  ASSERT_TRUE(write_record(objects, record));
  EXPECT_EQ(mode(objects.folder() + "/records/c17.json"), 0600U);
  const auto again = read_record(objects, "c17", record.script_digest);
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(again->to_json(), record.to_json());
  EXPECT_EQ(read_record(objects, "c17", sha256_hex("another")).error().code, ErrorCode::conflict);
  EXPECT_EQ(read_record(objects, "c18", record.script_digest).error().code, ErrorCode::not_found);
  write(".sickbay/records/c17.json", R"({"version": 9})");
  EXPECT_EQ(read_record(objects, "c17", record.script_digest).error().code, ErrorCode::too_new);
  write(".sickbay/records/c17.json", "{");
  EXPECT_FALSE(read_record(objects, "c17", record.script_digest));
}

}  // namespace
}  // namespace sickbay::cli
