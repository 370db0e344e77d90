// SPDX-License-Identifier: Apache-2.0
#include "ckpt/keepers.h"

#include <sys/stat.h>

#include "ckpt/ckpt_test_parts.h"

namespace sickbay::ckpt {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class Keepers : public testing::Test {
 protected:
  Keepers() { EXPECT_TRUE(keep_folder(series_)); }
  static Keeper at(const std::string& node, const std::string& domain, std::int64_t restart = 0) {
    return {node, domain, "127.0.0.1", 4711, 17, restart};
  }
  checkpoint::test::TemporaryFolder folder_;
  std::unique_ptr<checkpoint::Files> files_ = checkpoint::make_posix_files();
  Series series_ = *Series::open(*files_, folder_ / "store", 17, "");
  std::string board_ = folder_ / "store/17/board/keep/";
};

TEST_F(Keepers, FindEachOther) {
  EXPECT_THAT(keepers(series_), IsEmpty());
  for (const char* node : {"n3", "n1", "n2"}) ASSERT_TRUE(announce(series_, at(node, node)));
  ASSERT_THAT(keepers(series_), SizeIs(3));
  EXPECT_EQ(keepers(series_)[0], at("n1", "n1"));
  retract(series_, "n1");
  EXPECT_THAT(keepers(series_), SizeIs(2));
  EXPECT_FALSE(announce(series_, at("../x", "")));
  // What is no such file is let be.
  test::write_text(board_ + "at.n4.json", "{\"node\":\"n5\",\"port\":1}");
  test::write_text(board_ + "at.n5.json", "{\"node\":\"n5\",\"port\":70000}");
  test::write_text(board_ + "at.n6.json", "torn");
  EXPECT_THAT(keepers(series_), SizeIs(2));
}

TEST_F(Keepers, EachHasThePacksOfOneThatDoesNotFailWithIt) {
  for (const char* node : {"a1", "a2", "b1", "b2"})
    ASSERT_TRUE(announce(series_, at(node, std::string(node).substr(0, 1))));
  ASSERT_TRUE(announce(series_, at("c1", "c", 1)));  // of another start
  std::vector<std::string> of;
  for (const char* node : {"a1", "a2", "b1", "b2"}) {
    of.push_back(kept_for(series_, at(node, ""), {"a1", "a2", "b1", "b2"}));
    EXPECT_NE(of.back().substr(0, 1), std::string(node).substr(0, 1)) << node;
  }
  EXPECT_THAT(of, testing::UnorderedElementsAre("a1", "a2", "b1", "b2"));
  EXPECT_EQ(kept_for(series_, at("c1", "", 1), {"a1", "a2", "b1", "b2"}), "");
}

// n3 died and could retract nothing; n2, which was there before it, is there again.
TEST_F(Keepers, WhoDiedIsNobodysPartner) {
  for (const char* node : {"n1", "n2", "n3"}) ASSERT_TRUE(announce(series_, at(node, node)));
  EXPECT_EQ(kept_for(series_, at("n1", ""), {"n1", "n2"}), "n2");
  EXPECT_EQ(kept_for(series_, at("n2", ""), {"n1", "n2"}), "n1");
  // Of a program on one node another keeper of the job has the packs.
  int keep_n1 = 0;
  for (const char* node : {"n2", "n3"}) keep_n1 += kept_for(series_, at(node, ""), {"n1"}) == "n1" ? 1 : 0;
  EXPECT_EQ(keep_n1, 1);
}

TEST_F(Keepers, WhoHasWhat) {
  EXPECT_EQ(kept_by(series_, "n1"), "");
  ASSERT_TRUE(note_kept(series_, "n1", "n2", 7));
  EXPECT_EQ(kept_by(series_, "n1"), "n2");
  EXPECT_EQ(kept_by(series_, "../../series"), "");
}

TEST_F(Keepers, OneSecretForAllThatNobodyElseReads) {
  EXPECT_EQ(keep_secret(series_, false).error().code, ErrorCode::not_found);
  std::vector<std::string> made(8);
  std::vector<std::thread> threads;
  for (std::string& one : made)
    threads.emplace_back([&] { one = keep_secret(series_, true).value_or("none"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(made, testing::Each(made[0]));
  EXPECT_THAT(made[0], SizeIs(64));
  EXPECT_EQ(keep_secret(series_, false).value(), made[0]);
  EXPECT_EQ(files_->list(board_).value(), std::vector<std::string>{"secret"});
  ASSERT_EQ(::chmod((board_ + "secret").c_str(), 0640), 0);
  for (const bool make : {false, true}) EXPECT_EQ(keep_secret(series_, make).error().code, ErrorCode::denied);
}

}  // namespace
}  // namespace sickbay::ckpt
