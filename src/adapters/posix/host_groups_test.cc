// SPDX-License-Identifier: Apache-2.0
// Whose groups they are, where the name service answers, late or never.  The threads are held here, so that a
// test says when a look-up comes back.
#include "adapters/posix/host_groups.h"

#include <gmock/gmock.h>

#include <memory>

#include "adapters/posix/posix_test_parts.h"

namespace sickbay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostGroupsTest : public ::testing::Test {
 protected:
  std::unique_ptr<HostGroups> make() {
    return std::make_unique<HostGroups>(
        loop_,
        [this](const std::string&, std::uint32_t gid) {
          ++looked_up_;
          return HostGroups::Groups{gid, extra_};
        },
        [this](std::function<void()> work) { threads_.push_back(std::move(work)); });
  }
  void ask(const std::string& user, std::uint32_t gid = 7) {
    groups_->ask(user, gid, [this, user](Result<HostGroups::Groups> groups) {
      said_.push_back(user + (groups
                                  ? ":" + std::to_string(groups->at(0)) + "," + std::to_string(groups->at(1))
                                  : " " + std::string(error_row(groups.error().code).name)));
    });
  }
  // All look-ups that are under way come back.
  void answer() {
    for (auto& work : std::exchange(threads_, {})) work();
    loop_.run();
  }
  std::vector<std::string> said() { return std::exchange(said_, {}); }

  HandLoop loop_;
  std::uint32_t extra_ = 8;
  int looked_up_ = 0;
  std::vector<std::function<void()>> threads_;
  std::vector<std::string> said_;
  std::unique_ptr<HostGroups> groups_ = make();
};

TEST_F(HostGroupsTest, AsksOnceForAllWhoWaitAndKeepsNothing) {
  ask("alice"), ask("alice"), ask("alice", 9);
  EXPECT_THAT(said(), IsEmpty()) << "never from inside";
  EXPECT_EQ(threads_.size(), 2u);
  answer();
  EXPECT_THAT(said(), ElementsAre("alice:7,8", "alice:7,8", "alice:9,8"));
  extra_ = 10;
  ask("alice");
  answer();
  EXPECT_THAT(said(), ElementsAre("alice:7,10")) << "asked anew";
  loop_.pass(HostGroups::kPatience);
  EXPECT_THAT(said(), IsEmpty()) << "once";
}

TEST_F(HostGroupsTest, WhoIsNotToldWithinPatienceHasNoGroups) {
  ask("alice");
  loop_.pass(HostGroups::kPatience / 2);
  ask("alice");
  loop_.pass(HostGroups::kPatience / 2);
  EXPECT_THAT(said(), ElementsAre("alice timed_out", "alice timed_out"));
  ask("alice");
  EXPECT_THAT(said(), IsEmpty());
  loop_.run();
  EXPECT_THAT(said(), ElementsAre("alice timed_out")) << "it still hangs";
  EXPECT_EQ(threads_.size(), 1u) << "and has no second thread";
  answer();
  EXPECT_THAT(said(), IsEmpty());
  ask("alice");
  answer();
  EXPECT_THAT(said(), ElementsAre("alice:7,8"));
}

// As many as there are threads hang, and more: all are answered, and those that had none are not asked about.
TEST_F(HostGroupsTest, AHundredThatHangHaveFourThreads) {
  for (int i = 0; i < 100; ++i) ask("u" + std::to_string(i));
  EXPECT_EQ(threads_.size(), HostGroups::kAtOnce);
  loop_.pass(HostGroups::kPatience);
  EXPECT_EQ(said().size(), 100u);
  answer();
  EXPECT_EQ(looked_up_, static_cast<int>(HostGroups::kAtOnce));
  ask("u99");
  answer();
  EXPECT_THAT(said(), ElementsAre("u99:7,8"));
}

TEST_F(HostGroupsTest, WhatComesBackWhenNobodyIsThereIsDropped) {
  ask("alice");
  groups_.reset();
  answer();
  loop_.pass(HostGroups::kPatience);
  EXPECT_THAT(said(), IsEmpty());
}

TEST(HostGroups, TheHostKnowsRoot) {
  EXPECT_THAT(HostGroups::of_host("root", 0), Contains(0u));
  EXPECT_THAT(HostGroups::of_host("no such user", 65534), ElementsAre(65534u));
}

}  // namespace
}  // namespace sickbay
