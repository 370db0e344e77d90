// SPDX-License-Identifier: Apache-2.0
// Flushing when somebody dies, storage is full, or what lies in a fast place is torn.
#include "ckpt/flush.h"

#include <fmt/format.h>

#include "ckpt/flush_test_parts.h"

namespace sickbay::ckpt {
namespace {

using test::code_of;
using test::kRoom;
using test::Processes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

class FlushFaults : public test::FlushTest {};

// Of one that died the others' packs are on shared storage; they and what is still in memory are a whole.
TEST_F(FlushFaults, OneThatIsKilledLeavesNothingHalfFlushed) {
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

TEST_F(FlushFaults, RankZerosThatIsKilledBeforeTheControlFile) {
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

TEST_F(FlushFaults, NobodyWaitsLongForARankZeroThatIsGone) {
  take("a");
  const auto start = std::chrono::steady_clock::now();
  for (const auto& one :
       four_.all([&](std::int64_t rank) { return four_.flush(rank, {.begin = Processes::kShort}); }, {0}))
    EXPECT_FALSE(one);
  EXPECT_LT(std::chrono::steady_clock::now() - start, Processes::kLong / 2);
  flush_well(1);
}

TEST_F(FlushFaults, SharedStorageIsFull) {
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

TEST_F(FlushFaults, WhatIsTornInAFastPlace) {
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

TEST_F(FlushFaults, ADamagedPackIsNotFlushed) {
  take("a");
  flip(four_.fast_place(2) + "/c1.r2.pack");
  for (const auto& one : flush({.number = 1})) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, ErrorCode::bad_input) << one.error().line();
  }
  EXPECT_THAT(shared(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "store/17/c1.r2.pack"));
}

TEST_F(FlushFaults, RankZeroThatDiesBeforeItIsNoted) {
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

}  // namespace
}  // namespace sickbay::ckpt
