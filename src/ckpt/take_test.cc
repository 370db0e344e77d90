// SPDX-License-Identifier: Apache-2.0
// Taking a checkpoint by several processes: who dies, comes too late, or says something else.
#include "ckpt/take.h"

#include <fmt/format.h>

#include "ckpt/ckpt_test_parts.h"

namespace sickbay::ckpt {
namespace {

using test::code_of;
using test::Processes;

class Take : public testing::Test {
 protected:
  std::vector<std::int64_t> there() const {
    std::vector<std::int64_t> numbers;
    const auto files = checkpoint::make_posix_files();
    const auto listed = four_.series(*files).store.list();
    if (!listed) return numbers;
    for (const checkpoint::Listed& one : *listed) numbers.push_back(one.control ? one.number : -one.number);
    return numbers;
  }
  auto take_all(const Processes& processes, const TakeWish& wish = {}) const {
    return processes.all([&](std::int64_t rank) { return processes.take(rank, wish); });
  }
  SeriesState state() const {
    const auto files = checkpoint::make_posix_files();
    return read_state(four_.series(*files));
  }

  checkpoint::test::TemporaryFolder folder_;
  Processes four_{folder_.path(), 4, "17.0.1"};
};

TEST_F(Take, AllOfThemOrNone) {
  four_.write_all("a");
  for (const auto& taken : take_all(four_)) {
    ASSERT_TRUE(taken) << taken.error().line();
    EXPECT_EQ(taken->number, 1);
  }
  four_.write_all("b");
  const auto second = take_all(four_);
  ASSERT_TRUE(second[0]);
  EXPECT_EQ(second[0]->number, 2);
  EXPECT_EQ(second[0]->parent, 1);
  EXPECT_EQ(second[0]->raw, 8U);  // of all four
  EXPECT_EQ(second[3]->raw, 2U);
  EXPECT_THAT(there(), testing::ElementsAre(1, 2));
  EXPECT_EQ(state().tip, 2);
  EXPECT_EQ(state().costs_ms.size(), 2U);
}

TEST_F(Take, OneWhoSaysAnotherStateFailsAll) {
  four_.write_all("a");
  const auto taken = four_.all(
      [&](std::int64_t rank) { return four_.take(rank, {.label = rank == 2 ? "step 8" : "step 7"}); });
  for (const auto& one : taken) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, ErrorCode::conflict);
    EXPECT_THAT(one.error().line(), testing::HasSubstr("rank 2 has saved 'step 8' and rank 0 'step 7'"));
  }
  EXPECT_THAT(there(), testing::IsEmpty());
  ASSERT_TRUE(take_all(four_)[0]);  // the next one is not harmed
}

TEST_F(Take, WhatOneCannotSaveFailsAll) {
  four_.write_all("a");
  std::filesystem::remove(four_.place(3) + "/state");
  for (const auto& one : take_all(four_)) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, ErrorCode::not_found) << one.error().line();
  }
  EXPECT_THAT(there(), testing::IsEmpty());
}

TEST_F(Take, WhatIsNoStateAnyMoreWhenItIsSavedFailsAll) {
  four_.write_all("a");
  const auto taken = four_.all([&](std::int64_t rank) {
    TakeWish wish;
    if (rank == 1)
      wish.still_so = [] { return Status(fail(ErrorCode::conflict, "it has written another one")); };
    return four_.take(rank, wish);
  });
  for (const auto& one : taken) {
    ASSERT_FALSE(one);
    EXPECT_THAT(one.error().line(), testing::HasSubstr("it has written another one"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "store/17/c1.r1.pack"));
}

// Rank 0 goes on at once; who has not yet looked how the checkpoint ended hears the same as all.
TEST_F(Take, TheEndIsHeardWhenTheNextOneHasBegun) {
  four_.write_all("a");
  const std::string board = folder_ / "store/17/board/17.0.1.take";
  const auto says = [&](const std::string& what, const std::string& part) {
    return std::filesystem::exists(board + what) &&
           test::read_text(board + what).find(part) != std::string::npos;
  };
  int turn = 1;
  Waiting slow = real_waiting(Processes::kLong);
  slow.pause = [&](Micros) {
    do std::this_thread::yield();
    while (says(".r2", fmt::format("\"turn\":{}", turn)) &&
           !says(".lead", fmt::format("\"turn\":{},\"state\":\"begun\"", turn + 1)));
  };
  for (const bool fails : {true, false}) {
    const auto ended = four_.all([&](std::int64_t rank) {
      TakeWish wish;
      if (rank == 1 && fails) wish.unable = Error(ErrorCode::not_found, "its file is gone");
      auto first = rank == 2 ? four_.take(rank, wish, slow) : four_.take(rank, wish);
      const auto second = four_.take(rank, {});
      EXPECT_TRUE(second) << second.error().line();
      return first;
    });
    for (const auto& one : ended) {
      ASSERT_EQ(one.has_value(), !fails) << (one ? "" : one.error().line());
      if (fails) {
        EXPECT_EQ(one.error().code, ErrorCode::not_found);
      }
    }
    turn = 3;
  }
}

TEST_F(Take, OneWhoComesTooLateJoinsNoLaterOne) {
  four_.write_all("a");
  // Rank 3 does not come; the others end.
  const auto first =
      four_.all([&](std::int64_t rank) { return four_.take(rank, {}, Processes::kShort); }, {3});
  ASSERT_FALSE(first[0]);
  EXPECT_EQ(first[0].error().code, ErrorCode::timed_out);
  EXPECT_THAT(first[0].error().line(), testing::HasSubstr("no answer of rank 3"));
  // Now it comes, and is told that it is over.
  const auto late = four_.take(3, {});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::conflict) << late.error().line();
  // Then all are together again.
  for (const auto& taken : take_all(four_)) EXPECT_TRUE(taken) << taken.error().line();
  EXPECT_THAT(there(), testing::ElementsAre(2));
}

TEST_F(Take, RankZeroThatCannotBeginTellsTheOthers) {
  four_.write_all("a");
  const auto files = checkpoint::make_posix_files();
  Series series = four_.series(*files);
  const auto held = series.store.lock();
  ASSERT_TRUE(held);
  // (With a turn of the caller's all know which one it is that fails.)
  for (const auto& one : take_all(four_, {.turn = 1})) {
    ASSERT_FALSE(one);
    EXPECT_THAT(one.error().what + one.error().cause,
                testing::HasSubstr("another process works on the checkpoints"));
  }
}

TEST_F(Take, TwoSessionsAtOnce) {
  four_.write_all("a");
  const Processes other(folder_.path(), 4, "17.0.2");
  std::vector<Result<Taken>> theirs;
  std::thread beside(
      [&] { theirs = other.all([&](std::int64_t rank) { return other.take(rank, {.turn = 1}); }); });
  std::vector<Result<Taken>> ours = take_all(four_, {.turn = 1});
  beside.join();
  // Each session as a whole has one or is told that another one works here; never a mixture of both.
  std::size_t done = 0;
  for (const auto* session : {&ours, &theirs}) {
    const bool has = session->front().has_value();
    done += has ? 1 : 0;
    for (const auto& one : *session) {
      EXPECT_EQ(one.has_value(), has) << one.error().line();
      if (has) {
        EXPECT_EQ(one->number, session->front()->number);
      }
    }
  }
  EXPECT_EQ(there().size(), done);
}

TEST_F(Take, OneThatDiesWhileItSavesFailsTheOthersInTime) {
  four_.write_all("a");
  const ::pid_t dead = four_.dying(2, "c1.r2.pack");
  const auto taken =
      four_.all([&](std::int64_t rank) { return four_.take(rank, {}, Processes::kShort); }, {2});
  EXPECT_EQ(code_of(dead), 9);
  ASSERT_FALSE(taken[0]);
  EXPECT_EQ(taken[0].error().code, ErrorCode::timed_out);
  EXPECT_THAT(there(), testing::IsEmpty());
}

// All have saved, and rank 0 dies before it publishes.
class RankZeroDies : public Take {
 protected:
  RankZeroDies() {
    four_.write_all("first");
    EXPECT_TRUE(take_all(four_)[0]);
    four_.write_all("second");
    const ::pid_t dead = four_.dying(0, "/c2.json");
    const auto taken =
        four_.all([&](std::int64_t rank) { return four_.take(rank, {}, Processes::kShort); }, {0});
    EXPECT_EQ(code_of(dead), 9);
    for (std::size_t rank = 1; rank < 4; ++rank)
      EXPECT_EQ(taken[rank].error().code, ErrorCode::timed_out) << taken[rank].error().line();
    EXPECT_THAT(there(), testing::ElementsAre(1));
    four_.write_all("lost");
  }
  Processes again_{folder_.path(), 4, "17.1.1"};  // the next start
};

TEST_F(RankZeroDies, TheNextStartFinishesIt) {
  const auto back = again_.all([&](std::int64_t rank) { return again_.back(rank); });
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const auto& one = back[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(one) << one.error().line();
    EXPECT_EQ(one->number, 2);
    EXPECT_EQ(again_.state(rank), "second" + std::to_string(rank));
  }
  EXPECT_THAT(back[0]->notes, testing::ElementsAre(testing::HasSubstr("was finished now")));
  EXPECT_EQ(state().tip, 2);
  // Once.
  EXPECT_THAT(again_.all([&](std::int64_t rank) { return again_.back(rank); })[0]->notes, testing::IsEmpty());
}

TEST_F(RankZeroDies, TheNextCheckpointStandsOnIt) {
  const auto taken = take_all(again_);
  ASSERT_TRUE(taken[0]) << taken[0].error().line();
  EXPECT_EQ(taken[0]->number, 3);
  EXPECT_THAT(there(), testing::ElementsAre(1, 2, 3));
}

TEST_F(RankZeroDies, APackThatIsGoneOrAnotherIsNotPublished) {
  const std::string pack = folder_ / "store/17/c2.r3.pack";
  const std::string bytes = test::read_text(pack);
  std::filesystem::remove(pack);
  for (const std::string& text : {std::string(), test::read_text(folder_ / "store/17/c2.r1.pack")}) {
    if (!text.empty()) test::write_text(pack, text);
    const auto back = again_.all([&](std::int64_t rank) { return again_.back(rank); });
    ASSERT_TRUE(back[0]) << back[0].error().line();
    EXPECT_EQ(back[0]->number, 1);
    EXPECT_EQ(again_.state(2), "first2");
    EXPECT_THAT(there(), testing::ElementsAre(1));
  }
}

TEST_F(RankZeroDies, AnAnswerThatDoesNotFitIsNone) {
  const std::string answer = folder_ / "store/17/board/17.0.1.take.r3";
  std::string text = test::read_text(answer);
  const std::size_t at = text.find("\"turn\":2");
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 8, "\"turn\":1");
  test::write_text(answer, text);
  const auto back = again_.all([&](std::int64_t rank) { return again_.back(rank); });
  ASSERT_TRUE(back[0]);
  EXPECT_EQ(back[0]->number, 1);
}

TEST_F(RankZeroDies, WhileAnotherHoldsTheStoreNothingIsFinished) {
  const auto files = checkpoint::make_posix_files();
  Series series = four_.series(*files);
  const auto held = series.store.lock();
  ASSERT_TRUE(held);
  EXPECT_FALSE(again_.back(0));
  EXPECT_THAT(there(), testing::ElementsAre(1));
}

}  // namespace
}  // namespace sickbay::ckpt
