// SPDX-License-Identifier: Apache-2.0
// The rounds of four processes, as threads, with programs that are played: who writes what and when, and who
// ends.
#include "ckpt/run/rounds.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "ckpt/ask.h"
#include "ckpt/ckpt_test_parts.h"
#include "ckpt/leaving.h"
#include "model/leaving.h"

namespace sickbay::ckpt {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Processes;

class Played : public Watched {
 public:
  // ---- what the test does with it
  void end(bool well = true) {
    well_ = well;
    ended_ = true;
  }
  void wish() { ++wishes_; }
  void write(const std::string& label) {
    const std::lock_guard hold(mutex_);
    label_ = label;
    ++version_;
  }
  std::function<void()> on_ask = [this] { write("same"); };
  std::atomic<bool> can_be_asked = true;
  std::atomic<int> asked = 0;

  // ---- what the rounds see
  bool ended() override { return ended_; }
  bool ended_well() override { return well_; }
  std::int64_t wishes() override { return wishes_; }
  void pause(Micros length) override {
    const auto until = std::chrono::steady_clock::now() + length;
    const bool ended = ended_;
    const std::int64_t wishes = wishes_;
    while (std::chrono::steady_clock::now() < until && ended == ended_ && wishes == wishes_)
      std::this_thread::sleep_for(milliseconds(1));
  }
  void wait_for_end() override {
    while (!ended_) std::this_thread::sleep_for(milliseconds(1));
  }
  Result<bool> make_ready() override {
    const std::lock_guard hold(mutex_);
    label_.reset();
    return can_be_asked.load();
  }
  Status ask() override {
    ++asked;
    on_ask();
    return {};
  }
  Result<std::optional<std::string>> written() override {
    const std::lock_guard hold(mutex_);
    if (label_) told_ = version_;
    return label_;
  }
  Status still_so() override {
    const std::lock_guard hold(mutex_);
    return told_ == version_ ? Status() : Status(fail(ErrorCode::conflict, "written again"));
  }

 private:
  std::mutex mutex_;
  std::optional<std::string> label_;
  int version_ = 0, told_ = 0;
  std::atomic<bool> ended_ = false, well_ = true;
  std::atomic<std::int64_t> wishes_ = 0;
};

class Rounds : public testing::Test {
 protected:
  Rounds() { four_.write_all("state"); }
  ~Rounds() override { finish(); }

  void begin(const std::set<std::int64_t>& without = {}) {
    for (std::int64_t rank = 0; rank < 4; ++rank)
      if (!without.contains(rank)) threads_.emplace_back([this, rank] { work(rank); });
  }
  // All programs end, and all wrappers: else this hangs, and CTest ends it.
  void finish() {
    for (Played& one : programs_)
      if (!one.ended()) one.end();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  bool until(const std::function<bool()>& so) {
    for (const auto end = std::chrono::steady_clock::now() + seconds(30);
         std::chrono::steady_clock::now() < end;) {
      {
        const std::lock_guard hold(mutex_);
        if (so()) return true;
      }
      std::this_thread::sleep_for(milliseconds(2));
    }
    ADD_FAILURE() << "in vain; failures: " << testing::PrintToString(failed_);
    return false;
  }
  void work(std::int64_t rank) {
    const auto files = checkpoint::make_posix_files();
    Series series = four_.series(*files);
    RoundsWish wish = wish_;
    wish.waiting = real_waiting(patience_);
    const Participant me = four_.participant(rank);
    LeavingLook leaving(folder_ / ("leaving." + me.node), me, wish.waiting.now(), ::geteuid());
    wish.look_around = [&] {
      ++looks_;
      leaving.look(series, wish.waiting.now());
    };
    const TakeTogether take = [&](const RoundsTake& round, const Waiting& waiting) {
      if (at_take_) at_take_(rank);
      return four_.take(
          rank, {.label = round.label, .asked = round.asked, .turn = round.turn, .still_so = round.still_so},
          waiting.patience);
    };
    const RoundsNews news{[this](const Taken& taken, const std::string& label, DueWhy why) {
                            const std::lock_guard hold(mutex_);
                            taken_.push_back(taken.number);
                            labels_.push_back(label);
                            whys_.push_back(why);
                          },
                          [this](const Error& error) {
                            const std::lock_guard hold(mutex_);
                            failed_.push_back(error.line());
                          }};
    const Status kept = keep_rounds(series, four_.participant(rank),
                                    programs_[static_cast<std::size_t>(rank)], wish, take, news);
    EXPECT_TRUE(kept);
  }
  SeriesState state() {
    const auto files = checkpoint::make_posix_files();
    return read_state(four_.series(*files));
  }
  void ask(const std::string& token) {
    const auto files = checkpoint::make_posix_files();
    ASSERT_TRUE(ask_for_checkpoint(four_.series(*files), token));
  }

  checkpoint::test::TemporaryFolder folder_;
  Processes four_{folder_.path(), 4, "17.0.1"};
  std::array<Played, 4> programs_;
  RoundsWish wish_;
  // What the agents of these nodes show from now on: one moment, as sickbayd tells what it saw in one look.
  std::int64_t drain(const std::vector<std::string>& nodes) {
    const TimePoint now = real_waiting(seconds(0)).now();
    for (const std::string& node : nodes) {
      test::write_text(folder_ / "new", format_leaving(now));
      std::filesystem::permissions(folder_ / "new", std::filesystem::perms(0644));
      std::filesystem::rename(folder_ / "new", folder_ / ("leaving." + node));
    }
    return to_micros(now);
  }
  std::atomic<int> looks_ = 0;
  Micros patience_ = seconds(60);
  std::function<void(std::int64_t)> at_take_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::vector<std::int64_t> taken_;
  std::vector<std::string> labels_, failed_;
  std::vector<DueWhy> whys_;
};

TEST_F(Rounds, ByTheTimerAndWhenAsked) {
  wish_.rhythm.every = milliseconds(300);
  begin();
  until([&] { return taken_.size() >= 2; });
  programs_[0].wish();
  until([&] { return std::ranges::find(whys_, DueWhy::asked) != whys_.end(); });
  finish();
  EXPECT_EQ(whys_[0], DueWhy::timer);
  for (std::size_t i = 0; i < taken_.size(); ++i) EXPECT_EQ(taken_[i], static_cast<std::int64_t>(i) + 1);
  EXPECT_THAT(failed_, testing::IsEmpty());
}

TEST_F(Rounds, ANodeThatLeavesIsAReason) {
  begin();
  until([&] { return looks_ >= 8; });
  EXPECT_THAT(taken_, testing::IsEmpty());
  const std::int64_t first = drain({"n2"});  // not rank 0's
  until([&] { return taken_.size() == 1 && leaving_answered(state()) >= first; });
  const int looks = looks_;
  until([&] { return looks_ >= looks + 16; });
  {
    const std::lock_guard hold(mutex_);
    EXPECT_EQ(taken_.size(), 1U) << "once";
    EXPECT_EQ(whys_[0], DueWhy::asked);
  }
  EXPECT_EQ(state().asked_done, "") << "nobody else's wish was answered";
  const std::int64_t second = drain({"n0"});
  until([&] { return taken_.size() == 2 && leaving_answered(state()) >= second; });
  finish();
  EXPECT_EQ(taken_.size(), 2U);
  EXPECT_THAT(failed_, testing::IsEmpty());
}

TEST_F(Rounds, AllNodesThatLeaveAtOnceAreOneReason) {
  begin();
  until([&] { return looks_ >= 8; });
  const std::int64_t since = drain({"n0", "n1", "n2", "n3"});
  until([&] { return leaving_answered(state()) >= since; });
  const int looks = looks_;
  until([&] { return looks_ >= looks + 32; });
  finish();
  EXPECT_EQ(taken_.size(), 1U);
}

TEST_F(Rounds, WhatFailsIsAnAnswerToANodeThatLeaves) {
  patience_ = milliseconds(200);
  programs_[1].on_ask = [] {};  // it does not write
  begin();
  until([&] { return looks_ >= 8; });
  const std::int64_t since = drain({"n2"});
  until([&] { return state().leaving_done_us == since; });
  const int looks = looks_;
  until([&] { return looks_ >= looks + 16; });
  finish();
  EXPECT_EQ(failed_.size(), 1U) << "it is not tried again and again";
  EXPECT_THAT(taken_, testing::IsEmpty());
}

TEST_F(Rounds, AWishFromOutsideIsAnsweredOnce) {
  begin();
  ask("c17.1");
  until([&] { return taken_.size() == 1; });
  until([&] { return state().asked_done == "c17.1"; });
  ask("c17.2");
  until([&] { return state().asked_done == "c17.2"; });
  finish();
  EXPECT_THAT(taken_, testing::ElementsAre(1, 2));
  EXPECT_EQ(state().asked_error, "");
  EXPECT_EQ(programs_[3].asked, 2);
}

TEST_F(Rounds, BeforeTheLimit) {
  Participant me = four_.participant(0);
  me.job_end = real_waiting({}).now() + seconds(2);
  const auto files = checkpoint::make_posix_files();
  Series series = four_.series(*files);
  me.ranks = 1;
  wish_.waiting = real_waiting(patience_);
  wish_.rhythm.before_end = milliseconds(1900);
  std::vector<DueWhy> whys;
  const RoundsNews news{[&](const Taken&, const std::string&, DueWhy why) {
                          whys.push_back(why);
                          programs_[0].end();
                        },
                        [](const Error& error) { ADD_FAILURE() << error.line(); }};
  ASSERT_TRUE(keep_rounds(
      series, me, programs_[0], wish_,
      [](const RoundsTake& round, const Waiting&) { return Result<Taken>(Taken{.number = round.turn}); },
      news));
  EXPECT_THAT(whys, testing::ElementsAre(DueWhy::before_end));
}

// Each process that asks makes all of them write anew: those that are asked later spoil what is there.
TEST_F(Rounds, WhoWritesMoreThanOnceIsWaitedFor) {
  int step = 0;
  std::mutex one_at_a_time;  // or a step might be written after the one that follows it
  for (Played& one : programs_)
    one.on_ask = [&] {
      const std::lock_guard hold(one_at_a_time);
      const std::string label = std::to_string(++step);
      for (Played& each : programs_) each.write(label);
    };
  begin();
  for (std::size_t i = 1; i <= 3; ++i) {
    programs_[0].wish();
    until([&] { return taken_.size() == i; });
  }
  finish();
  EXPECT_THAT(labels_, testing::ElementsAre("4", "8", "12"));
  EXPECT_THAT(failed_, testing::IsEmpty());
}

TEST_F(Rounds, WhatIsWrittenWhileItIsSavedIsNoCheckpoint) {
  programs_[2].on_ask = [&] { programs_[2].write("same"); };
  const std::string first = four_.state(2);
  begin();
  std::atomic<bool> again = true;
  std::thread writer([&] {
    while (again) {
      if (programs_[2].asked > 0) programs_[2].write("same");
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  programs_[0].wish();
  until([&] { return failed_.size() == 1; });
  again = false;
  writer.join();
  EXPECT_THAT(failed_[0], testing::HasSubstr("written again"));
  programs_[0].wish();
  until([&] { return taken_.size() == 1; });
  finish();
}

TEST_F(Rounds, WhatWasWrittenTwiceIsTakenTheSecondTime) {
  // Slurm's own signal is on its way when ours comes: it writes, and once more while that is saved.
  std::atomic<bool> twice = true;
  at_take_ = [&](std::int64_t rank) {
    if (rank == 1 && twice.exchange(false)) programs_[1].write("same");
  };
  begin();
  programs_[0].wish();
  until([&] { return taken_.size() == 1; });
  finish();
  EXPECT_EQ(programs_[0].asked, 2);
  EXPECT_THAT(failed_, testing::IsEmpty());
}

TEST_F(Rounds, OneThatDoesNotAnswerIsANoteAndNoMore) {
  patience_ = milliseconds(700);
  programs_[1].on_ask = [] {};
  begin();
  programs_[0].wish();
  until([&] { return failed_.size() == 1; });
  EXPECT_THAT(failed_[0], testing::HasSubstr("of rank 1 was asked and has not written"));
  programs_[1].on_ask = [&] { programs_[1].write("same"); };
  programs_[0].wish();
  until([&] { return taken_.size() == 1; });
  programs_[3].can_be_asked = false;
  programs_[0].wish();
  until([&] { return failed_.size() == 2; });
  EXPECT_THAT(failed_[1], testing::HasSubstr("the program of rank 3 catches no signal"));
  EXPECT_EQ(programs_[0].asked, 2);  // nobody was asked in vain
  programs_[3].can_be_asked = true;
  programs_[0].wish();
  until([&] { return taken_.size() == 2; });
  finish();
}

TEST_F(Rounds, RankZerosProgramThatDoesNotAnswerKeepsNobody) {
  patience_ = milliseconds(700);
  programs_[0].on_ask = [] {};
  begin();
  programs_[0].wish();
  until([&] { return failed_.size() == 1; });
  programs_[0].on_ask = [&] { programs_[0].write("same"); };
  programs_[0].wish();
  until([&] { return taken_.size() == 1; });
  finish();
}

TEST_F(Rounds, NoMoreOnceOneHasEnded) {
  begin();
  programs_[2].end();
  ask("late");
  until([&] { return state().asked_done == "late"; });
  EXPECT_EQ(state().asked_error, "the program of rank 2 has ended");
  ask("later");
  until([&] { return state().asked_done == "later"; });
  EXPECT_EQ(state().asked_error, "the program of rank 2 has ended");
  finish();
  EXPECT_THAT(taken_, testing::IsEmpty());
  EXPECT_EQ(programs_[0].asked, 0);
}

TEST_F(Rounds, WhoHasWrittenAndEndedHasWritten) {
  for (Played& one : programs_)
    one.on_ask = [&one] {
      one.write("same");
      one.end();
    };
  begin();
  programs_[0].wish();
  until([&] { return taken_.size() == 1; });
  finish();
}

// (Patience is a minute; a test that waited for it would not come to an end in time.)
TEST_F(Rounds, RankZeroWaitsForNobodyWhenItsProgramHasEnded) {
  const TimePoint start = real_waiting({}).now();
  begin({3});  // of which nothing is heard
  programs_[0].wish();
  until([&] { return std::filesystem::exists(folder_ / "store/17/board/17.0.1.ask.r1"); });
  programs_[0].end();
  finish();
  EXPECT_LT(real_waiting({}).now() - start, seconds(30));
  EXPECT_THAT(taken_, testing::IsEmpty());
}

TEST_F(Rounds, NobodyWaitsLongForOneThatIsGoneAfterTheEnd) {
  const TimePoint start = real_waiting({}).now();
  wish_.after_end = milliseconds(100);
  // Rank 3 becomes ready, and then nothing more is heard of it.
  programs_[3].on_ask = [] { std::this_thread::sleep_for(seconds(3)); };
  begin();
  programs_[0].wish();
  until([&] { return programs_[0].asked == 1 && programs_[3].asked == 1; });
  for (const std::size_t rank : {0U, 1U, 2U}) programs_[rank].end();
  finish();
  EXPECT_LT(real_waiting({}).now() - start, seconds(30));
}

TEST_F(Rounds, OneMoreAtTheEnd) {
  wish_.at_end = true;
  begin();
  for (const std::size_t rank : {2U, 0U, 1U}) programs_[rank].end();
  programs_[3].end();
  finish();
  EXPECT_THAT(taken_, testing::ElementsAre(1));
  EXPECT_THAT(labels_, testing::ElementsAre("end"));
}

TEST_F(Rounds, NoneAtTheEndOfAFailure) {
  wish_.at_end = true;
  begin();
  programs_[2].end(false);
  finish();
  EXPECT_THAT(taken_, testing::IsEmpty());
  EXPECT_THAT(failed_, testing::ElementsAre("the program of rank 2 has failed"));
}

TEST_F(Rounds, NothingOfAnEarlierRunIsHeard) {
  begin();
  programs_[0].wish();
  until([&] { return taken_.size() == 1; });
  finish();
  wish_.run = 2;
  for (Played& one : programs_) std::destroy_at(&one), std::construct_at(&one);
  begin();
  programs_[0].wish();
  until([&] { return taken_.size() == 2; });
  finish();
  EXPECT_THAT(taken_, testing::ElementsAre(1, 2));
}

}  // namespace
}  // namespace sickbay::ckpt
