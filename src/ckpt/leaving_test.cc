// SPDX-License-Identifier: Apache-2.0
// Looks of processes on two nodes, with real files of an agent's and a real board.
#include "ckpt/leaving.h"

#include <sys/stat.h>

#include "ckpt/ask.h"
#include "ckpt/ckpt_test_parts.h"
#include "model/leaving.h"

namespace sickbay::ckpt {
namespace {

using std::chrono::seconds;
using test::write_text;

constexpr std::int64_t kProgramStart = 1'000'000'000'000'000;  // us; when the programs of the tests began

class LeavingTest : public testing::Test {
 protected:
  // What the agent of a node shows; 0: nothing.
  void show(const std::string& node, std::int64_t after_start_s) {
    const std::string path = file(node);
    if (after_start_s == 0)
      std::filesystem::remove(path);
    else
      put(node, format_leaving(at(after_start_s)));
  }
  // As the agent does: whole, by rename.
  void put(const std::string& node, const std::string& text) {
    write_text(file(node) + ".new", text);
    std::filesystem::permissions(file(node) + ".new", std::filesystem::perms(0644));
    std::filesystem::rename(file(node) + ".new", file(node));
  }
  std::string file(const std::string& node) { return folder_ / ("leaving." + node); }
  static TimePoint at(std::int64_t after_start_s) {
    return from_micros(kProgramStart) + seconds(after_start_s);
  }
  LeavingLook process(const std::string& node) {
    Participant me;
    me.node = node;
    return LeavingLook(file(node), me, from_micros(kProgramStart), ::geteuid());
  }
  // The process looks, later than ever before.
  void look(LeavingLook& process) { process.look(series_, at(clock_ += 20)); }
  // What is wished for, as rank 0 sees it; "": nothing.
  std::string wished() {
    const auto wish = read_leaving_wish(series_);
    return wish && is_open(*wish, leaving_answered(read_state(series_)), from_micros(kProgramStart))
               ? wish->node
               : "";
  }
  // Rank 0 takes a checkpoint for whatever reason.
  void taken(std::int64_t after_start_s) {
    SeriesState state = read_state(series_);
    state.begun_us = to_micros(at(after_start_s));
    ASSERT_TRUE(write_state(series_, state));
  }

  checkpoint::test::TemporaryFolder folder_;
  std::unique_ptr<checkpoint::Files> files_ = checkpoint::make_posix_files();
  Series series_ = *Series::open(*files_, folder_ / "store", 17, "");
  std::int64_t clock_ = 0;
};

TEST_F(LeavingTest, WhoSeesHisNodeLeavingWishesOnce) {
  LeavingLook one = process("n3"), two = process("n3"), other = process("n4");
  look(one);
  EXPECT_EQ(wished(), "") << "no file";
  show("n3", 5);
  look(other);
  EXPECT_EQ(wished(), "") << "it is not its node";
  look(two);
  EXPECT_EQ(wished(), "n3");
  const auto inode = [&] {
    struct ::stat info {};
    return ::stat(leaving_path(series_).c_str(), &info) == 0 ? info.st_ino : 0;
  };
  const auto first = inode();
  look(one);
  look(two);
  EXPECT_EQ(inode(), first) << "nobody writes it again";
  ASSERT_TRUE(note_leaving_answer(series_, *read_leaving_wish(series_)));
  for (LeavingLook* all : {&one, &two, &other}) look(*all);
  EXPECT_EQ(wished(), "") << "it was answered, by a checkpoint or by none";
  LeavingLook late = process("n3");
  look(late);
  EXPECT_EQ(wished(), "");
  // Lifted, and drained again.
  show("n3", 0);
  look(one);
  EXPECT_EQ(wished(), "");
  show("n3", 300);
  look(one);
  EXPECT_EQ(wished(), "n3");
  EXPECT_EQ(read_leaving_wish(series_)->since_us, to_micros(at(300)));
}

TEST_F(LeavingTest, ADrainBeforeTheProgramBeganIsNone) {
  LeavingLook one = process("n3");
  show("n3", -1);
  look(one);
  EXPECT_EQ(wished(), "");
  EXPECT_FALSE(read_leaving_wish(series_));
  // What an earlier start of the job had no time to do.
  ASSERT_TRUE(write_leaving_wish(series_, {"n3", to_micros(at(-1))}));
  EXPECT_EQ(wished(), "");
}

TEST_F(LeavingTest, AnyCheckpointThatWasBegunLaterIsTheAnswer) {
  LeavingLook one = process("n3");
  taken(4);
  show("n3", 5);
  look(one);
  EXPECT_EQ(wished(), "n3") << "that one was before it";
  taken(6);  // by the timer, or since a user asked
  EXPECT_EQ(wished(), "");
  LeavingLook other = process("n4");
  show("n4", 5);
  look(other);
  EXPECT_EQ(wished(), "") << "and it is the other node's, too";
}

TEST_F(LeavingTest, OfTwoNodesTheLaterCounts) {
  LeavingLook one = process("n3"), two = process("n4");
  show("n3", 5);
  show("n4", 9);
  look(two);
  look(one);
  EXPECT_EQ(wished(), "n4") << "what answers the later answers the earlier, too";
}

TEST_F(LeavingTest, WhatWasWrittenOverUnseenIsWrittenAgain) {
  LeavingLook one = process("n4");
  show("n4", 9);
  look(one);
  // Both were written at the same time, and the earlier one was the last to get the name.
  ASSERT_TRUE(write_leaving_wish(series_, {"n3", to_micros(at(5))}));
  look(one);
  EXPECT_EQ(wished(), "n4");
}

TEST_F(LeavingTest, AUsersWishStaysAsItIs) {
  ASSERT_TRUE(ask_for_checkpoint(series_, "c17.1"));
  LeavingLook one = process("n3");
  show("n3", 5);
  look(one);
  EXPECT_EQ(asked_token(series_), "c17.1");
  EXPECT_EQ(wished(), "n3");
  ASSERT_TRUE(note_answer(series_, "c17.1", "it failed"));
  EXPECT_EQ(wished(), "n3") << "that it failed is no answer to the other";
}

TEST_F(LeavingTest, WhatNoAgentWroteIsNothing) {
  const std::uint32_t us = ::geteuid();
  for (const char* text : {"", "1", "soon\n", "5\n6\n", "-5\n", "99999999999999999999999999999999999999\n"}) {
    put("n3", text);
    EXPECT_FALSE(read_leaving_file(file("n3"), us)) << text;
  }
  put("n3", "1764086400000000\n");
  EXPECT_EQ(read_leaving_file(file("n3"), us), from_micros(1764086400000000));
  EXPECT_FALSE(read_leaving_file(file("n3"), us + 1)) << "it is another's";
  ASSERT_EQ(::chmod(file("n3").c_str(), 0664), 0);
  EXPECT_FALSE(read_leaving_file(file("n3"), us)) << "others may write it";
  ASSERT_EQ(::chmod(file("n3").c_str(), 0644), 0);
  std::filesystem::create_symlink(file("n3"), file("link"));
  EXPECT_FALSE(read_leaving_file(file("link"), us));
  EXPECT_FALSE(read_leaving_file(folder_ / "", us)) << "a folder";
  ASSERT_EQ(::mkfifo(file("fifo").c_str(), 0644), 0);
  EXPECT_FALSE(read_leaving_file(file("fifo"), us)) << "and it holds nobody up";
  EXPECT_FALSE(read_leaving_file(file("none"), us));
}

TEST_F(LeavingTest, WhatIsNoWishIsNone) {
  for (const char* text : {"", "{", "[]", "{\"node\":\"n3\"}", "{\"node\":\"\",\"since\":5}",
                           "{\"node\":\"a/b\",\"since\":5}", "{\"node\":\"n3\",\"since\":0}",
                           "{\"node\":\"n3\",\"since\":-5}", "{\"node\":\"n3\",\"since\":\"5\"}"}) {
    write_text(leaving_path(series_), text);
    EXPECT_FALSE(read_leaving_wish(series_)) << text;
  }
  EXPECT_FALSE(write_leaving_wish(series_, {"a/b", 5}));
  ASSERT_TRUE(write_leaving_wish(series_, {"n3", 5}));
  EXPECT_EQ(read_leaving_wish(series_)->token(), "leaving n3 5");
}

TEST_F(LeavingTest, ItIsLookedAtOnceASecond) {
  LeavingLook one = process("n3");
  one.look(series_, at(0));
  show("n3", 5);
  one.look(series_, at(0) + std::chrono::milliseconds(999));
  EXPECT_EQ(wished(), "");
  one.look(series_, at(1));
  EXPECT_EQ(wished(), "n3");
}

TEST_F(LeavingTest, WhereItLies) {
  Participant me;
  me.node = "n3";
  me.rank = 4;
  std::string set;
  const Variable variable = [&](const char* name) {
    return std::string(name) == "SICKBAY_LEAVING_FILE" ? set : "";
  };
  EXPECT_EQ(leaving_file(variable, me), "/run/sickbay-agent/leaving");
  set = "/lab/nodes/%N/leaving.%t";
  EXPECT_EQ(leaving_file(variable, me), "/lab/nodes/n3/leaving.4");
  for (const char* no : {"none", "leaving", "/a/%z"}) {
    set = no;
    EXPECT_EQ(leaving_file(variable, me), "") << no;
  }
}

TEST_F(LeavingTest, ACheckpointTellsWhenItWasBegun) {
  test::Processes one(folder_.path(), 1, "17.0.1");
  one.write_all("state");
  const TimePoint before = std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now());
  ASSERT_TRUE(one.take(0, {.asked = seconds(10)}));
  const std::int64_t begun = read_state(series_).begun_us;
  EXPECT_GE(begun, to_micros(before - seconds(10))) << "when the program was asked, not when it had answered";
  EXPECT_LE(begun, to_micros(before));
}

}  // namespace
}  // namespace sickbay::ckpt
