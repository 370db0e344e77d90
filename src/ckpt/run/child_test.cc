// SPDX-License-Identifier: Apache-2.0
// Real programs: how they end, which signals reach them, and what is heard of their files.
#include "ckpt/run/child.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "checkpoint/checkpoint_test_parts.h"
#include "ckpt/run/asked_program.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::test::read_text;
using checkpoint::test::write_text;

class OfChild : public testing::Test {
 protected:
  std::unique_ptr<Child> shell(const std::string& script, int wish = SIGUSR1) {
    auto child =
        Child::start({"sh", "-c", "cd " + folder_.path() + " && " + script}, {"SB_A=1", "HOME=/there"}, wish);
    EXPECT_TRUE(child);
    return std::move(*child);
  }
  bool until(const std::function<bool()>& so) {
    for (int i = 0; i < 3000; ++i) {
      if (so()) return true;
      ::usleep(10'000);
    }
    ADD_FAILURE() << "in vain";
    return false;
  }
  bool there(const std::string& name) { return std::filesystem::exists(folder_ / name); }

  checkpoint::test::TemporaryFolder folder_;
};

TEST_F(OfChild, EndsAsTheProgramDoes) {
  for (const auto& [script, code] : std::vector<std::pair<std::string, int>>{
           {"exit 0", 0}, {"exit 17", 17}, {"kill -9 $$", 137}, {"kill -TERM $$", 143}}) {
    const auto child = shell(script);
    child->wait();
    EXPECT_TRUE(child->ended());
    EXPECT_EQ(child->code(), code) << script;
    child->send(SIGKILL);  // nobody
  }
}

TEST_F(OfChild, WhatCannotBeRunIsAnError) {
  EXPECT_EQ(Child::start({"no-such-program"}, {}, SIGUSR1).error().code, ErrorCode::not_found);
  EXPECT_EQ(Child::start({"/etc/passwd"}, {}, SIGUSR1).error().code, ErrorCode::denied);
}

TEST_F(OfChild, HasTheEnvironmentAndWhatIsAdded) {
  shell("echo \"$SB_A $HOME $PATH\" > out")->wait();
  EXPECT_EQ(read_text(folder_ / "out"), std::string("1 /there ") + ::getenv("PATH") + "\n");
}

TEST_F(OfChild, SignalsArePassedOnButForTheWish) {
  const auto child = shell(
      "trap 'echo 2 >> got' USR2; trap 'echo 1 >> got' USR1; trap 'exit 5' TERM; : > up; "
      "while :; do sleep 0.01; done");
  until([&] { return there("up"); });
  ::kill(::getpid(), SIGUSR1);
  until([&] { return child->wishes() == 1; });
  ::kill(::getpid(), SIGUSR2);
  until([&] { return there("got"); });
  ::kill(::getpid(), SIGTERM);
  child->wait();
  EXPECT_EQ(child->code(), 5);
  EXPECT_EQ(read_text(folder_ / "got"), "2\n");
}

TEST_F(OfChild, BeginsWithTheSignalsAsTheyWere) {
  shell("grep SigBlk /proc/self/status > out")->wait();
  EXPECT_THAT(read_text(folder_ / "out"), testing::HasSubstr("0000000000000000"));
}

TEST_F(OfChild, IsReadyForWhatItCatches) {
  const auto child = shell(
      "until [ -e go ]; do sleep 0.01; done; trap : USR1; : > up; "
      "until [ -e stop ]; do sleep 0.01; done");
  EXPECT_FALSE(child->is_ready_for(SIGUSR1));
  write_text(folder_ / "go", "");
  until([&] { return there("up"); });
  EXPECT_TRUE(child->is_ready_for(SIGUSR1));
  EXPECT_FALSE(child->is_ready_for(SIGUSR2));
  write_text(folder_ / "stop", "");
  child->wait();
  EXPECT_FALSE(child->is_ready_for(SIGUSR1));
}

TEST_F(OfChild, APauseEndsWithTheProgram) {
  const auto child = shell("until [ -e go ]; do sleep 0.01; done");
  child->pause(std::chrono::milliseconds(1));
  EXPECT_FALSE(child->ended());
  write_text(folder_ / "go", "");
  while (!child->ended()) child->pause(std::chrono::hours(1));
  EXPECT_EQ(child->code(), 0);
}

TEST(AskSignal, ByItsName) {
  EXPECT_EQ(*parse_ask_signal("USR1"), SIGUSR1);
  EXPECT_EQ(*parse_ask_signal("sigusr2"), SIGUSR2);
  for (const char* name : {"", "SIG", "KILL", "TERM", "10", "USR1 "})
    EXPECT_EQ(parse_ask_signal(name).error().code, ErrorCode::usage) << name;
  EXPECT_EQ(signal_name(SIGUSR1), "SIGUSR1");
}

class OfAsked : public OfChild {
 protected:
  HowToAsk how(int signal) {
    return {.signal = signal, .ask_file = signal == 0 ? folder_ / "ask" : "", .done_file = folder_ / "done"};
  }
  // As a program does.
  void done(const std::string& text) {
    write_text(folder_ / "done.new", text);
    std::filesystem::rename(folder_ / "done.new", folder_ / "done");
  }
  std::unique_ptr<Child> child_ =
      shell("trap 'echo x >> got' USR1; : > up; until [ -e stop ]; do sleep 0.01; done");
  ~OfAsked() override {
    write_text(folder_ / "stop", "");
    child_->wait();
  }
};

TEST_F(OfAsked, BySignal) {
  AskedProgram program(*child_, how(SIGUSR1));
  until([&] { return there("up"); });
  done("old\n");
  until([&] { return *program.make_ready(); });
  EXPECT_EQ(*program.written(), std::nullopt);
  ASSERT_TRUE(program.ask());
  until([&] { return there("got"); });
  done("step 7 \nmore");
  EXPECT_EQ(*program.written(), "step 7");
}

TEST_F(OfAsked, ByAFile) {
  AskedProgram program(*child_, how(0));
  EXPECT_TRUE(*program.make_ready());
  ASSERT_TRUE(program.ask());
  EXPECT_TRUE(there("ask"));
  EXPECT_TRUE(*program.make_ready());  // given up: it is not asked any more
  EXPECT_FALSE(there("ask"));
  HowToAsk other = how(0);
  other.by_others = true;
  ASSERT_TRUE(AskedProgram(*child_, other).ask());
  EXPECT_FALSE(there("ask"));
  other = how(0);
  other.ask_file = folder_ / "none/ask";
  EXPECT_FALSE(AskedProgram(*child_, other).ask());
}

TEST_F(OfAsked, ALabelIsALine) {
  AskedProgram program(*child_, how(0));
  done("");
  EXPECT_EQ(*program.written(), "");
  done(std::string(300, 'x'));
  EXPECT_EQ(program.written().error().code, ErrorCode::bad_input);
  std::filesystem::remove(folder_ / "done");
  std::filesystem::create_directory(folder_ / "done");
  EXPECT_FALSE(program.written());
}

TEST_F(OfAsked, IsStillSoUntilItIsWrittenAgain) {
  AskedProgram program(*child_, how(0));
  EXPECT_FALSE(program.still_so());
  write_text(folder_ / "state", "1");
  done("1");
  program.holds({{"state", folder_ / "state"}});
  ASSERT_EQ(*program.written(), "1");
  EXPECT_TRUE(program.still_so());
  // The file of the next state takes its place, and the done file is the old one yet.
  std::filesystem::last_write_time(
      folder_ / "state", std::filesystem::last_write_time(folder_ / "done") + std::chrono::milliseconds(5));
  EXPECT_EQ(program.still_so().error().code, ErrorCode::conflict);
  program.holds({});
  EXPECT_TRUE(program.still_so());
  done("1");  // another file of the same words
  EXPECT_FALSE(program.still_so());
  ASSERT_TRUE(*program.written());
  EXPECT_TRUE(program.still_so());
  std::filesystem::remove(folder_ / "done");
  EXPECT_FALSE(program.still_so());
}

}  // namespace
}  // namespace sickbay::ckpt
