// SPDX-License-Identifier: Apache-2.0
// Checkpoints in the fast places of several nodes, and on their way to shared storage: which node is lost,
// who dies, what has no room.  A node is a folder of its own.
#include "ckpt/flush.h"

#include <fmt/format.h>

#include <set>

#include "ckpt/ckpt_test_parts.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::test::noise;
using test::code_of;
using test::Processes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kRoom = 10 << 20;

// Shared storage on which no pack has room.
class FullFiles : public test::DyingFiles {
 public:
  explicit FullFiles(std::string folder) : DyingFiles("/nothing"), folder_(std::move(folder)) {}
  Result<std::unique_ptr<checkpoint::OutFile>> create(const std::string& path, std::uint32_t mode) override {
    if (path.starts_with(folder_) && path.ends_with(".pack.new"))
      return fail(ErrorCode::storage_full, "no space left for " + path);
    return DyingFiles::create(path, mode);
  }

 private:
  std::string folder_;
};

class Flush : public testing::Test {
 protected:
  Flush() { four_.use_fast(kRoom); }

  void take(const std::string& text, const TakeWish& wish = {}) {
    four_.write_all(text);
    for (const auto& one : four_.all([&](std::int64_t rank) { return four_.take(rank, wish); }))
      ASSERT_TRUE(one) << one.error().line();
  }
  auto flush(const FlushWish& wish = {}) {
    return four_.all([&](std::int64_t rank) { return four_.flush(rank, wish); });
  }
  void flush_well(std::int64_t number, const FlushWish& wish = {}) {
    for (const auto& one : flush(wish)) {
      ASSERT_TRUE(one) << one.error().line();
      EXPECT_EQ(one->number, number);
    }
  }
  static auto back(const Processes& processes) {
    return processes.all([&](std::int64_t rank) { return processes.back(rank); });
  }
  void expect_back(const Processes& processes, std::int64_t number, const std::string& text) {
    four_.write_all("lost");
    for (const auto& one : back(processes)) {
      ASSERT_TRUE(one) << one.error().line();
      EXPECT_EQ(one->number, number);
    }
    for (std::int64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(four_.state(rank), text + std::to_string(rank));
  }
  static std::vector<std::int64_t> numbers_in(const checkpoint::Store& store) {
    std::vector<std::int64_t> numbers;
    const auto listed = store.list();
    if (listed)
      for (const checkpoint::Listed& one : *listed) numbers.push_back(one.control ? one.number : -one.number);
    return numbers;
  }
  std::vector<std::int64_t> shared() { return numbers_in(four_.series(*files_).store); }
  std::vector<std::int64_t> noted() { return numbers_in(four_.series(*files_).noted); }
  std::set<std::string> packs_in(const std::string& folder) {
    std::set<std::string> packs;
    const auto names = files_->list(folder).value_or(std::vector<std::string>());
    for (const std::string& name : names)
      if (name.find(".pack") != std::string::npos) packs.insert(name);
    return packs;
  }
  static void flip(const std::string& path) {
    std::string bytes = test::read_text(path);
    ASSERT_GT(bytes.size(), 20U) << path;
    bytes[20] ^= 1;
    test::write_text(path, bytes);
  }

  checkpoint::test::TemporaryFolder folder_;
  std::unique_ptr<checkpoint::Files> files_ = checkpoint::make_posix_files();
  Processes four_{folder_.path(), 4, "17.0.1"};
};

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

// Of one that died the others' packs are on shared storage; they and what is still in memory are a whole.
TEST_F(Flush, OneThatIsKilledLeavesNothingHalfFlushed) {
  take("a");
  const ::pid_t dead = four_.dying_flush(2, "store/17/c1.r2.pack");
  const auto first =
      four_.all([&](std::int64_t rank) { return four_.flush(rank, {}, Processes::kShort); }, {2});
  EXPECT_EQ(code_of(dead), 9);
  for (const std::size_t rank : {0U, 1U, 3U}) {
    ASSERT_FALSE(first[rank]);
    EXPECT_EQ(first[rank].error().code, ErrorCode::timed_out) << first[rank].error().line();
  }
  EXPECT_THAT(shared(), IsEmpty());
  EXPECT_THAT(noted(), ElementsAre(1));
  four_.lose_node(1);
  expect_back(four_, 1, "a");
  flush_well(1, {.again = true});
  EXPECT_THAT(shared(), ElementsAre(1));
  for (std::int64_t rank = 0; rank < 4; ++rank) four_.lose_node(rank);
  expect_back(four_, 1, "a");
}

TEST_F(Flush, RankZerosThatIsKilledBeforeTheControlFile) {
  take("a");
  const ::pid_t dead = four_.dying_flush(0, "store/17/c1.json");
  const auto first =
      four_.all([&](std::int64_t rank) { return four_.flush(rank, {}, Processes::kShort); }, {0});
  EXPECT_EQ(code_of(dead), 9);
  EXPECT_EQ(first[1].error().code, ErrorCode::timed_out);
  EXPECT_THAT(shared(), IsEmpty());
  take("b");
  flush_well(2);
  EXPECT_THAT(shared(), ElementsAre(2));  // 1 was passed over
  EXPECT_THAT(noted(), IsEmpty());
}

TEST_F(Flush, NobodyWaitsLongForARankZeroThatIsGone) {
  take("a");
  const auto start = std::chrono::steady_clock::now();
  for (const auto& one :
       four_.all([&](std::int64_t rank) { return four_.flush(rank, {.begin = Processes::kShort}); }, {0}))
    EXPECT_FALSE(one);
  EXPECT_LT(std::chrono::steady_clock::now() - start, Processes::kLong / 2);
  flush_well(1);
}

TEST_F(Flush, SharedStorageIsFull) {
  take("a");
  flush_well(1);
  take("b");
  const auto failed = four_.all([&](std::int64_t rank) {
    FullFiles full(folder_ / "store");
    return rank == 3 ? four_.flush_by(full, rank, {.number = 2}, Processes::kLong)
                     : four_.flush(rank, {.number = 2});
  });
  for (const auto& one : failed) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, ErrorCode::storage_full) << one.error().line();
  }
  EXPECT_THAT(shared(), ElementsAre(1));
  expect_back(four_, 2, "b");  // nothing of it is lost
  // The next one brings it, though rank 0's word of the first is still there.
  flush_well(2, {.number = 2, .again = true});
  EXPECT_THAT(shared(), ElementsAre(1, 2));
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

TEST_F(Flush, WhatIsTornInAFastPlace) {
  take("a");
  flush_well(1);
  // A control file: nothing stands on what it says.
  test::write_text(four_.fast_place(1) + "/c1.json", "{\"sickbay_check");
  expect_back(four_, 1, "a");
  take("b");
  // A pack: read from shared storage where it is there, and else passed over.
  flip(four_.fast_place(3) + "/c2.r3.pack");
  expect_back(four_, 1, "a");
  for (const auto& one : flush()) ASSERT_TRUE(one) << one.error().line();  // (2 is left)
  take("c");
  flush_well(3);
  flip(four_.fast_place(0) + "/c3.r0.pack");
  four_.write_all("lost");
  const auto all = back(four_);
  ASSERT_TRUE(all[0]) << all[0].error().line();
  EXPECT_EQ(all[0]->number, 3);
  EXPECT_FALSE(all[0]->fast);
  EXPECT_TRUE(all[1]->fast);
  EXPECT_THAT(all[0]->notes, testing::Contains(HasSubstr("r0: ")));
  EXPECT_EQ(four_.state(0), "c0");
}

TEST_F(Flush, ADamagedPackIsNotFlushed) {
  take("a");
  flip(four_.fast_place(2) + "/c1.r2.pack");
  for (const auto& one : flush({.number = 1})) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, ErrorCode::bad_input) << one.error().line();
  }
  EXPECT_THAT(shared(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "store/17/c1.r2.pack"));
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

TEST_F(Flush, RankZeroThatDiesBeforeItIsNoted) {
  take("a");
  four_.write_all("second");
  const ::pid_t dead = four_.dying(0, "/board/fast/c2.json");
  const auto taken =
      four_.all([&](std::int64_t rank) { return four_.take(rank, {}, Processes::kShort); }, {0});
  EXPECT_EQ(code_of(dead), 9);
  EXPECT_EQ(taken[1].error().code, ErrorCode::timed_out);
  EXPECT_THAT(noted(), ElementsAre(1));
  Processes again(folder_.path(), 4, "17.1.1");
  again.use_fast(kRoom);
  expect_back(again, 2, "second");
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
