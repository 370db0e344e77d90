// SPDX-License-Identifier: Apache-2.0
// The fast place itself: how it is named, whose it is, and what is removed of it.
#include "ckpt/fast.h"

#include <sys/stat.h>

#include "ckpt/ckpt_test_parts.h"

namespace sickbay::ckpt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(FastText, Forms) {
  EXPECT_FALSE(parse_fast("").value());
  EXPECT_EQ(parse_fast("/dev/shm/x").value()->folder, "/dev/shm/x");
  EXPECT_FALSE(parse_fast("/dev/shm/x").value()->bytes);
  EXPECT_EQ(parse_fast("/dev/shm/../shm/x/:8G").value()->folder, "/dev/shm/x");
  EXPECT_EQ(parse_fast("/dev/shm/x:8G").value()->bytes, std::uint64_t{8} << 30);
  EXPECT_EQ(parse_fast("/dev/shm/x:1000").value()->bytes, 1000U);
  for (const char* text : {"x", "/", "/:1G", ":1G", "/x:", "/x:much", "/x:-1G"}) {
    const auto wrong = parse_fast(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_EQ(wrong.error().code, ErrorCode::usage);
  }
}

class FastPlace : public testing::Test {
 protected:
  Participant process(JobId job, std::int64_t rank = 0) {
    Participant me;
    me.job = me.in_job = job;
    me.rank = rank;
    me.ranks = 6;
    me.nodes = 3;
    me.node = "n1";
    return me;
  }
  Result<Fast> open(const Participant& me, bool uses = true) {
    return open_fast(*files_, {folder_ / "fast", 1000}, "/store/" + std::to_string(me.job), me, uses);
  }
  std::vector<std::string> swept(const Fast& fast, const std::vector<JobId>& gone) {
    return sweep_fast(*files_, fast, process(1),
                      [&](JobId job) { return std::ranges::find(gone, job) != gone.end(); });
  }
  checkpoint::test::TemporaryFolder folder_;
  std::unique_ptr<checkpoint::Files> files_ = checkpoint::make_posix_files();
};

TEST_F(FastPlace, IsForItsUserAlone) {
  const auto mode = [](const std::filesystem::path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
  };
  {
    const auto fast = open(process(1));
    ASSERT_TRUE(fast) << fast.error().line();
    EXPECT_EQ(fast->most, 500U);  // of two processes on a node
    EXPECT_EQ(mode(folder_ / "fast"), 0700U);
    EXPECT_EQ(mode(fast->store.folder()), 0700U);
  }
  // One that the user has made stays as it is; where others can put things is no place.
  ASSERT_EQ(::chmod((folder_ / "fast").c_str(), 0755), 0);
  {
    const auto fast = open(process(1));
    ASSERT_TRUE(fast) << fast.error().line();
    EXPECT_EQ(mode(folder_ / "fast"), 0755U);
  }
  for (const unsigned open_to_others : {0777U, 0775U, 0702U}) {
    ASSERT_EQ(::chmod((folder_ / "fast").c_str(), open_to_others), 0);
    const auto refused = open(process(1));
    ASSERT_FALSE(refused) << open_to_others;
    EXPECT_EQ(refused.error().code, ErrorCode::denied);
  }
}

TEST_F(FastPlace, OfAnotherUserOrALinkIsNotUsed) {
  std::filesystem::create_directory(folder_ / "theirs");
  std::filesystem::create_directory_symlink(folder_ / "theirs", folder_ / "fast");
  auto refused = open(process(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::denied);
  EXPECT_THAT(refused.error().remedy_text, HasSubstr("SICKBAY_CHECKPOINT_FAST"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "theirs"));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a folder another user's";
  std::filesystem::remove(folder_ / "fast");
  std::filesystem::create_directory(folder_ / "fast");
  ASSERT_EQ(::chown((folder_ / "fast").c_str(), 12345, 12345), 0);
  refused = open(process(1));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("is of another user (12345)"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "fast"));
}

TEST_F(FastPlace, WhatJobsThatAreGoneLeftIsRemoved) {
  const auto fast = open(process(1), false);
  ASSERT_TRUE(fast);
  for (const JobId job : {2U, 3U, 4U}) {
    auto left = open(process(job));
    ASSERT_TRUE(left);
    test::write_text(left->store.folder() + "/c1.r0.pack", "pack");
  }
  // Of job 4 a second process still lives.
  const auto lives = open(process(4, 1));
  ASSERT_TRUE(lives);
  std::filesystem::create_directory(folder_ / "fast/not-ours");
  EXPECT_THAT(swept(*fast, {}), IsEmpty());
  EXPECT_THAT(swept(*fast, {1, 2, 4}), ElementsAre(HasSubstr("/fast/2-")));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "fast/not-ours"));
  EXPECT_TRUE(std::filesystem::exists(fast->store.folder()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "fast"), {}), 4);
}

TEST_F(FastPlace, OfAReplayBothJobsMustBeGone) {
  const auto fast = open(process(1), false);
  Participant replay = process(2);
  replay.in_job = 7;
  ASSERT_TRUE(open(replay));
  EXPECT_THAT(swept(*fast, {2}), IsEmpty());
  EXPECT_THAT(swept(*fast, {7}), IsEmpty());
  EXPECT_EQ(swept(*fast, {2, 7}).size(), 1U);
}

}  // namespace
}  // namespace sickbay::ckpt
