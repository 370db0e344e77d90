// SPDX-License-Identifier: Apache-2.0
// Checkpoints in the fast places of several nodes, and on their way to shared storage: what goes on from
// where, what has room, and what stays.
#include "ckpt/flush.h"

#include <fmt/format.h>

#include "ckpt/flush_test_parts.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::test::noise;
using test::kRoom;
using test::Processes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Flush : public test::FlushTest {};

TEST_F(Flush, FirstInMemoryThenOnSharedStorage) {
  four_.write_all("a");
  for (const auto& one : four_.all([&](std::int64_t rank) { return four_.take(rank, {}); })) {
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_TRUE(one->fast);
  }
  EXPECT_THAT(noted(), ElementsAre(1));
  EXPECT_THAT(shared(), IsEmpty());
  EXPECT_THAT(packs_in(folder_ / "store/17"), IsEmpty());
  for (const auto& one : flush()) {
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_EQ(one->number, 1);
    EXPECT_GT(one->bytes, 0U);
  }
  EXPECT_THAT(noted(), IsEmpty());
  EXPECT_THAT(shared(), ElementsAre(1));
  flush_well(1);  // nothing is left to do
}

TEST_F(Flush, WhereTheProgramAloneDiedAllGoOnFromMemory) {
  take("a");
  flush_well(1);
  take("b");
  Processes again(folder_.path(), 4, "17.1.1");
  again.use_fast(kRoom);
  for (const auto& one : back(again)) {
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_EQ(one->number, 2);
    EXPECT_TRUE(one->fast);
  }
  EXPECT_EQ(four_.state(3), "b3");
}

TEST_F(Flush, OnOtherNodesAllGoOnFromTheLastFlushed) {
  take("a");
  flush_well(1);
  take("b");
  Processes again(folder_.path(), 4, "17.1.1");
  again.use_fast(kRoom, "other");
  expect_back(again, 1, "a");
}

TEST_F(Flush, WhatOneNodeLostIsPassedOverByAll) {
  take("a");
  flush_well(1);
  take("b");
  four_.lose_node(2);
  four_.write_all("lost");
  const auto all = back(four_);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    ASSERT_TRUE(all[static_cast<std::size_t>(rank)]) << all[static_cast<std::size_t>(rank)].error().line();
    EXPECT_EQ(all[static_cast<std::size_t>(rank)]->number, 1);
    EXPECT_EQ(four_.state(rank), "a" + std::to_string(rank));
  }
  EXPECT_THAT(all[0]->notes,
              testing::Contains(HasSubstr("checkpoint 2, rank 2: it was in the fast place of a node, n2")));
  // What was left behind is not flushed, and the way goes on.
  flush_well(1);
  take("c");
  flush_well(3);
  EXPECT_THAT(shared(), ElementsAre(1, 3));
  EXPECT_THAT(noted(), IsEmpty());
  expect_back(four_, 3, "c");
}

TEST_F(Flush, AllMemoryLostBeforeTheFirstFlushIsAnError) {
  take("a");
  for (std::int64_t rank = 0; rank < 4; ++rank) four_.lose_node(rank);
  four_.write_all("kept");
  for (const auto& one : back(four_)) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, ErrorCode::bad_input) << one.error().line();
  }
  EXPECT_EQ(four_.state(1), "kept1");
}

TEST_F(Flush, WhereMemoryHasNoRoomItIsOnSharedStorage) {
  four_.use_fast(3000);
  for (std::int64_t rank = 0; rank < 4; ++rank)
    four_.write(rank, noise(rank == 1 ? 5000 : 500, static_cast<unsigned>(rank + 1)));
  const auto mixed = four_.all([&](std::int64_t rank) { return four_.take(rank, {}); });
  for (const auto& one : mixed) ASSERT_TRUE(one) << one.error().line();
  EXPECT_TRUE(mixed[0]->fast);
  EXPECT_FALSE(mixed[1]->fast);
  EXPECT_THAT(mixed[1]->notes,
              ElementsAre(HasSubstr("is on shared storage: 2.9 KiB of memory are not enough")));
  EXPECT_THAT(packs_in(folder_ / "store/17"), ElementsAre("c1.r1.pack"));
  EXPECT_THAT(noted(), ElementsAre(1));
  for (const auto& one : back(four_)) EXPECT_EQ(one->number, 1);
  EXPECT_EQ(four_.state(1), noise(5000, 2));
  flush_well(1);
  EXPECT_THAT(shared(), ElementsAre(1));
  // Nobody has room: as without a fast place.
  for (std::int64_t rank = 0; rank < 4; ++rank)
    four_.write(rank, noise(5000, static_cast<unsigned>(rank + 11)));
  // (Nothing is removed but by a flush: another process may stand on it.)
  const TakeWish wish{.keep = {.count = 1, .age = {}, .bytes = {}}};
  for (const auto& one : four_.all([&](std::int64_t rank) { return four_.take(rank, wish); })) {
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_FALSE(one->fast);
  }
  EXPECT_THAT(shared(), ElementsAre(1, 2));
  flush_well(2, {.number = 2});
}

TEST_F(Flush, WhatStays) {
  for (int n = 1; n <= 5; ++n) {
    take(fmt::format("state {} ", n), {.full = true});
    flush_well(n, {.keep = {.count = 3, .age = {}, .bytes = {}}});
  }
  EXPECT_THAT(shared(), ElementsAre(3, 4, 5));
  EXPECT_EQ(packs_in(folder_ / "store/17").size(), 12U);
  for (std::int64_t rank = 0; rank < 4; ++rank)
    EXPECT_THAT(packs_in(four_.fast_place(rank)),
                ElementsAre(fmt::format("c4.r{}.pack", rank), fmt::format("c5.r{}.pack", rank)));
}

TEST_F(Flush, IncrementalOnesStandOnWhatCameBefore) {
  const std::string base = noise(200'000, 7);
  const auto write = [&](int n) {
    for (std::int64_t rank = 0; rank < 4; ++rank) four_.write(rank, base + fmt::format("{}.{}", n, rank));
  };
  for (int n = 1; n <= 6; ++n) {
    write(n);
    for (const auto& one : four_.all([&](std::int64_t rank) { return four_.take(rank, {}); }))
      ASSERT_TRUE(one) << one.error().line();
    if (n % 3 == 0) flush_well(n, {.keep = {.count = 1, .age = {}, .bytes = {}}});
  }
  EXPECT_THAT(shared(), ElementsAre(6));
  EXPECT_LT(std::filesystem::file_size(four_.fast_place(1) + "/c6.r1.pack"), 60'000U);
  for (std::int64_t rank = 0; rank < 4; ++rank) four_.lose_node(rank);
  for (const auto& one : back(four_)) {
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_EQ(one->number, 6);
  }
  EXPECT_EQ(four_.state(2), base + "6.2");
}

// While one is flushed the next are taken: each process flushes what rank 0's says, and all end.
TEST_F(Flush, WhileOthersAreTaken) {
  std::vector<std::thread> flushes;
  for (int n = 1; n <= 6; ++n) {
    take(fmt::format("{} ", n));
    for (std::int64_t rank = 0; rank < 4; ++rank)
      flushes.emplace_back([this, rank, n] {
        const auto done = four_.flush(rank, {.number = n, .in_background = true});
        EXPECT_TRUE(done) << done.error().line();
      });
  }
  for (std::thread& one : flushes) one.join();
  flush_well(6, {.number = 6, .again = true});
  EXPECT_EQ(shared().back(), 6);
  EXPECT_THAT(noted(), IsEmpty());
  for (std::int64_t rank = 0; rank < 4; ++rank) four_.lose_node(rank);
  expect_back(four_, 6, "6 ");
}

TEST_F(Flush, OneThatIsNotNeededInTheBackgroundIsNone) {
  take("a");
  const auto next = files_->lock(four_.fast_place(0) + "/lock.next");
  ASSERT_TRUE(next);
  const auto left = four_.flush(0, {.in_background = true});
  ASSERT_TRUE(left) << left.error().line();
  EXPECT_EQ(left->number, 0);
  EXPECT_THAT(shared(), IsEmpty());
}

TEST_F(Flush, ASeriesOfTheSameNameThatBeganAnew) {
  for (const char* text : {"a", "b", "c"}) take(text);
  std::filesystem::remove_all(folder_ / "store");
  take("new");
  EXPECT_THAT(noted(), ElementsAre(1));
  EXPECT_THAT(packs_in(four_.fast_place(1)), ElementsAre("c1.r1.pack"));
  expect_back(four_, 1, "new");
}

TEST_F(Flush, MoreProcessesFindWhatTheFewerOnesLeft) {
  take("a", {.fewest = 1, .most = 6});
  flush_well(1);
  take("b", {.fewest = 1, .most = 6});
  Processes six(folder_.path(), 6, "17.0.2");
  six.use_fast(kRoom);
  expect_back(six, 2, "b");
  // It was not theirs to flush: what the new ones save is.
  for (const auto& one : six.all([&](std::int64_t rank) { return six.flush(rank); }))
    EXPECT_TRUE(one) << one.error().line();
  EXPECT_THAT(shared(), ElementsAre(1));
  six.write_all("c");
  for (const auto& one : six.all([&](std::int64_t rank) { return six.take(rank, {}); }))
    ASSERT_TRUE(one) << one.error().line();
  for (const auto& one : six.all([&](std::int64_t rank) { return six.flush(rank, {.number = 3}); }))
    ASSERT_TRUE(one) << one.error().line();
  EXPECT_THAT(shared(), ElementsAre(1, 3));
}

}  // namespace
}  // namespace sickbay::ckpt
