// SPDX-License-Identifier: Apache-2.0
#include "ckpt/board.h"

#include "ckpt/ckpt_test_parts.h"

namespace sickbay::ckpt {
namespace {

using test::Processes;

class BoardOf : public testing::Test {
 protected:
  Board board(std::int64_t rank, const std::string& session = "s.1", std::int64_t ranks = 3) {
    return *Board::open(*files_, folder_.path(), Processes(folder_.path(), ranks, session).participant(rank),
                        "topic");
  }
  // A clock that goes on by what is waited, and tells how often.
  Waiting waiting(Micros patience) {
    return {[&] { return now_; },
            [&](Micros length) {
              now_ += length;
              if (at_pause_) at_pause_();
            },
            patience};
  }

  checkpoint::test::TemporaryFolder folder_;
  std::unique_ptr<checkpoint::Files> files_ = checkpoint::make_posix_files();
  TimePoint now_ = from_unix_seconds(1'800'000'000);
  std::function<void()> at_pause_;
  bool ok_ = true;
};

const auto kAny = [](const Json&) { return true; };

TEST_F(BoardOf, WhatOneSaysTheOthersHear) {
  Board lead = board(0), other = board(1);
  EXPECT_EQ(*other.said(), std::nullopt);
  ASSERT_TRUE(lead.say(Json::object({{"turn", 1}})));
  EXPECT_EQ(other.hear(waiting(Micros(0)), kAny)->dump(), "{\"turn\":1}");
  ASSERT_TRUE(other.answer(Json::object({{"a", 1}})));
  EXPECT_EQ((**lead.answered(1))["a"].as_int(), 1);
  EXPECT_EQ(*lead.answered(2), std::nullopt);
  // Of another session: nothing.
  EXPECT_EQ(*board(1, "s.2").said(), std::nullopt);
}

TEST_F(BoardOf, PatienceEndsAndNamesWhoIsLacking) {
  Board lead = board(0);
  ASSERT_TRUE(lead.answer(Json::object()));
  const auto all = lead.gather(waiting(std::chrono::seconds(5)), kAny);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::timed_out);
  EXPECT_THAT(all.error().line(), testing::HasSubstr("no answer of ranks 1, 2 for 5 s"));
  const auto heard = board(1).hear(waiting(std::chrono::seconds(5)), kAny);
  ASSERT_FALSE(heard);
  EXPECT_THAT(heard.error().line(), testing::HasSubstr("rank 0 said nothing for 5 s"));
}

TEST_F(BoardOf, EachAnswerRenewsThePatience) {
  Board lead = board(0), one = board(1), two = board(2);
  const TimePoint start = now_;
  at_pause_ = [&] {
    if (now_ > start + std::chrono::seconds(3)) ok_ = ok_ && lead.answer(Json::object()).has_value();
    if (now_ > start + std::chrono::seconds(7)) ok_ = ok_ && one.answer(Json::object()).has_value();
    if (now_ > start + std::chrono::seconds(11)) ok_ = ok_ && two.answer(Json::object()).has_value();
  };
  EXPECT_TRUE(lead.gather(waiting(std::chrono::seconds(5)), kAny));
  EXPECT_GT(now_, start + std::chrono::seconds(11));
  EXPECT_TRUE(ok_);
}

TEST_F(BoardOf, WhatIsNotStillSoEndsTheWait) {
  Waiting until = waiting(std::chrono::hours(1));
  int looks = 0;
  until.still = [&] { return ++looks < 3 ? Status() : Status(fail(ErrorCode::conflict, "it has ended")); };
  const auto heard = board(1).hear(until, kAny);
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().what, "it has ended");
  EXPECT_EQ(looks, 3);
  looks = 0;
  EXPECT_EQ(board(0).gather(until, kAny).error().what, "it has ended");
}

TEST_F(BoardOf, AFileThatCannotBeReadIsWaitedFor) {
  Board other = board(1);
  test::write_text(folder_ / "s.1.topic.lead", "{\"turn\"");
  int pauses = 0;
  at_pause_ = [&] {
    if (++pauses == 3) ok_ = ok_ && board(0).say(Json::object({{"turn", 1}})).has_value();
  };
  EXPECT_TRUE(other.hear(waiting(std::chrono::seconds(5)), kAny));
  EXPECT_EQ(pauses, 3);
  EXPECT_TRUE(ok_);
}

TEST_F(BoardOf, ASingleProcessWritesNothing) {
  Board alone = board(0, "s.1", 1);
  ASSERT_TRUE(alone.say(Json::object({{"turn", 1}})));
  ASSERT_TRUE(alone.answer(Json::object({{"a", 1}})));
  EXPECT_TRUE(alone.hear(waiting(Micros(0)), kAny));
  EXPECT_EQ(alone.gather(waiting(Micros(0)), kAny)->size(), 1U);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(BoardOf, OnlyWhatEarlierStartsLeftIsTidied) {
  for (const char* name : {"17.0.3.take.lead", "17.1.0.take.r1", "17.2.0.take.lead", "18.0.0.take.lead",
                           "other.take.lead", "series.json", "ask"})
    test::write_text(folder_ / name, "{}");
  Participant me = Processes(folder_.path(), 3, "17.2.0").participant(0);
  me.restart = 2;
  tidy_board(*files_, folder_.path(), me);
  EXPECT_THAT(*files_->list(folder_.path()), testing::ElementsAre("17.2.0.take.lead", "18.0.0.take.lead",
                                                                  "ask", "other.take.lead", "series.json"));
}

}  // namespace
}  // namespace sickbay::ckpt
