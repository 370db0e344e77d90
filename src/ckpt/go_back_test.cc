// SPDX-License-Identifier: Apache-2.0
// Going back by several processes: all to one checkpoint, or none.
#include "ckpt/go_back.h"

#include "ckpt/ckpt_test_parts.h"

namespace sickbay::ckpt {
namespace {

using test::Processes;

class GoBack : public testing::Test {
 protected:
  void take(const std::string& text) {
    four_.write_all(text);
    for (const auto& one : four_.all([&](std::int64_t rank) { return four_.take(rank, {}); }))
      EXPECT_TRUE(one) << one.error().line();
  }
  auto back(const BackWish& wish = {}) {
    return four_.all([&](std::int64_t rank) { return four_.back(rank, wish); });
  }
  void flip(const std::string& name) {
    std::string bytes = test::read_text(folder_ / ("store/17/" + name));
    bytes[20] ^= 1;
    test::write_text(folder_ / ("store/17/" + name), bytes);
  }

  checkpoint::test::TemporaryFolder folder_;
  Processes four_{folder_.path(), 4, "17.0.1"};
};

TEST_F(GoBack, NoneYetIsNoError) {
  for (const auto& one : back()) {
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_EQ(one->number, 0);
    EXPECT_EQ(one->turn, 1);
  }
  for (const auto& one : back()) {
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_EQ(one->turn, 2);
  }
  take("a");
  for (const auto& one : back()) EXPECT_EQ(one->number, 1);
}

TEST_F(GoBack, AllAreTogetherAgainAfterItFailed) {
  for (const auto& one : back({.from = 5})) EXPECT_FALSE(one);
  take("a");
  for (const auto& one : back()) {
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_EQ(one->number, 1);
  }
}

TEST_F(GoBack, AllToTheNewest) {
  take("a");
  take("b");
  four_.write_all("lost");
  for (const auto& one : back()) EXPECT_EQ(one->number, 2);
  for (std::int64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(four_.state(rank), "b" + std::to_string(rank));
  for (const auto& one : back({.from = 1})) EXPECT_EQ(one->number, 1);
  EXPECT_EQ(four_.state(3), "a3");
}

TEST_F(GoBack, WhatIsDamagedForOneIsPassedOverByAll) {
  take("a");
  take("b");
  for (const char* pack : {"c2.r3.pack", "c2.r0.pack"}) {
    flip(pack);
    four_.write_all("lost");
    const auto all = back();
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(all[static_cast<std::size_t>(rank)]);
      EXPECT_EQ(all[static_cast<std::size_t>(rank)]->number, 1);
      EXPECT_EQ(four_.state(rank), "a" + std::to_string(rank));
    }
    EXPECT_THAT(all[0]->notes, testing::Contains(testing::HasSubstr("checkpoint 1 was taken instead")));
  }
  flip("c1.r1.pack");
  four_.write_all("kept");
  for (const auto& one : back()) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, ErrorCode::bad_input);
  }
  for (std::int64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(four_.state(rank), "kept" + std::to_string(rank));
}

TEST_F(GoBack, WithOneWhoDoesNotComeNothingIsChanged) {
  take("a");
  four_.write_all("kept");
  const auto some =
      four_.all([&](std::int64_t rank) { return four_.back(rank, {}, Processes::kShort); }, {2});
  for (const std::size_t rank : {0U, 1U, 3U}) {
    ASSERT_FALSE(some[rank]);
    EXPECT_EQ(some[rank].error().code, ErrorCode::timed_out) << some[rank].error().line();
  }
  for (std::int64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(four_.state(rank), "kept" + std::to_string(rank));
}

// A clock that only moves when somebody waits: how long a process waited is known, and costs nothing.
struct WaitedFor {
  TimePoint now{};
  Waiting waiting(Micros patience) {
    return {[this] { return now; }, [this](Micros length) { now += length; }, patience};
  }
};

TEST_F(GoBack, OneWhoDoesNotComeIsWaitedForOnce) {
  take("a");
  WaitedFor clock;
  const auto files = checkpoint::make_posix_files();
  Series own = four_.series(*files);
  const auto alone =
      go_back(own, four_.participant(0), {.target = four_.place(0)}, clock.waiting(std::chrono::minutes(30)));
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::timed_out) << alone.error().line();
  EXPECT_LT(clock.now - TimePoint{}, std::chrono::minutes(31));
}

// The real files, but for one name nothing can be put in place.
class OneStuck : public test::DyingFiles {
 public:
  explicit OneStuck(std::string name) : DyingFiles("/never"), name_(std::move(name)) {}
  Status rename(const std::string& from, const std::string& to) override {
    if (to == name_) return fail(ErrorCode::storage_broken, "it stays where it is");
    return DyingFiles::rename(from, to);
  }

 private:
  std::string name_;
};

// Rank 0 fails when all others have taken their places: they hear of it at once, and of what it was.
TEST_F(GoBack, WhereRankZeroCannotTakeItsPlaceItsOwnErrorIsTold) {
  take("a");
  four_.write_all("lost");
  const auto all = four_.all([&](std::int64_t rank) {
    OneStuck files(four_.place(0) + "/state");
    Series own = four_.series(files);
    return go_back(own, four_.participant(rank), {.target = four_.place(rank)},
                   real_waiting(std::chrono::seconds(10)));
  });
  for (const auto& one : all) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, ErrorCode::storage_broken) << one.error().line();
  }
  EXPECT_EQ(four_.state(0), "lost0");
  // And they are together again in the next turn.
  for (const auto& one : back()) {
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_EQ(one->number, 1);
  }
}

TEST_F(GoBack, AReplayBeginsWhereItWasToldAndThenGoesOnFromItsOwn) {
  take("a");
  take("b");
  const auto go = [&] {
    return four_.all([&](std::int64_t rank) {
      const auto files = checkpoint::make_posix_files();
      Series own = four_.series(*files);
      Participant me = four_.participant(rank);
      me.in_job = 21;
      me.session = "21.0.1";
      return go_back(own, me, {.begin_at = 1, .target = four_.place(rank)}, real_waiting(Processes::kLong));
    });
  };
  for (const auto& one : go()) {
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_EQ(one->number, 1);
  }
  for (const auto& one : go()) EXPECT_EQ(one->number, 1);
  for (const auto& one : back()) EXPECT_EQ(one->number, 2);  // job 17 itself
}

TEST_F(GoBack, MoreAndFewerProcessesThanItWasTakenBy) {
  four_.write_all("a");
  for (const auto& one :
       four_.all([&](std::int64_t rank) { return four_.take(rank, {.fewest = 1, .most = 8}); }))
    EXPECT_TRUE(one);
  const Processes two(folder_.path() + "/", 2, "17.0.9");
  EXPECT_FALSE(two.back(0, {}, Processes::kShort));  // alone of two
  const Processes nine(folder_.path(), 9, "17.0.10");
  EXPECT_THAT(nine.all([&](std::int64_t rank) { return nine.back(rank); })[0].error().line(),
              testing::HasSubstr("is for 1 to 8 processes"));
}

}  // namespace
}  // namespace sickbay::ckpt
