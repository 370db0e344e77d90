// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/process_runner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <utility>

#include "adapters/net/asio_loop.h"
#include "adapters/posix/poll_loop.h"

namespace sickbay {
namespace {

struct LoopRow {
  const char* name;
  std::unique_ptr<Loop> (*make)();
};

// Both loops of the house must carry it.
class ProcessRunnerTest : public ::testing::TestWithParam<LoopRow> {
 protected:
  Result<ProcessOutcome> run(ProcessSpec spec) {
    auto loop = GetParam().make();
    auto runner = make_process_runner(*loop);
    std::optional<Result<ProcessOutcome>> answer;
    runner->run(std::move(spec), [&](Result<ProcessOutcome> r) {
      answer = std::move(r);
      loop->stop();
    });
    EXPECT_FALSE(answer) << "never from inside run()";
    loop->run();
    return *answer;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Loops, ProcessRunnerTest,
    ::testing::Values(LoopRow{"poll", [] { return make_poll_loop().value(); }},
                      LoopRow{"asio", []() -> std::unique_ptr<Loop> { return make_asio_loop(); }}),
    [](const auto& row) { return row.param.name; });

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.argv = {"sh", "-c", script};
  spec.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  return spec;
}

TEST_P(ProcessRunnerTest, WhatIsBoundedByUsDoesNotOutliveUs) {
  const std::string fifo = ::testing::TempDir() + "/fifo" + std::to_string(::getpid()) + GetParam().name;
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    ProcessSpec spec = shell("echo $$ >" + fifo + "; exec sleep 300");
    spec.kill_strays = true;
    (void)run(std::move(spec));
    ::_exit(1);
  }
  pid_t child = 0;
  std::ifstream(fifo) >> child;
  ASSERT_GT(child, 0);
  const int held = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  ASSERT_GE(held, 0);
  ::kill(parent, SIGKILL);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  pollfd ended{held, POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 60000), 1);
  if (ended.revents == 0) ::kill(child, SIGKILL);
  ::close(held);
  ::unlink(fifo.c_str());
}

TEST_P(ProcessRunnerTest, GivesBackWhatTheProgramSaid) {
  auto r = run(shell("echo out; echo err >&2; exit 7"));
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->exit_code, 7);
  EXPECT_EQ(r->out, "out\n");
  EXPECT_EQ(r->err, "err\n");
  EXPECT_FALSE(r->timed_out);
}

TEST_P(ProcessRunnerTest, InputEnvironmentFolderAndExtraDescriptors) {
  ProcessSpec spec = shell("cat; cat <&5; pwd; umask; env | sort; ls /proc/self/fd | tr '\\n' ' '");
  spec.input = "in.";
  spec.extra_fds = {{5, "five."}};
  spec.folder = "/usr";
  spec.umask = 027;
  auto r = run(std::move(spec));
  ASSERT_TRUE(r);
  // The last descriptor is ls's own; 3 and 4 were never given.
  EXPECT_EQ(r->out, "in.five./usr\n0027\nLC_ALL=C\nPATH=/usr/bin:/bin\nPWD=/usr\n0 1 2 3 5 ") << r->err;
}

TEST_P(ProcessRunnerTest, KillsTheWholeGroupWhenTheTimeIsUp) {
  ProcessSpec spec = shell("(trap '' TERM; while :; do :; done) & echo $!; while :; do :; done");
  spec.time_limit = std::chrono::milliseconds(200);
  auto r = run(std::move(spec));
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->timed_out);
  EXPECT_EQ(r->signal, SIGKILL);
  EXPECT_EQ(r->exit_code, -1);
}

TEST_P(ProcessRunnerTest, AChildLeftBehindDoesNotHoldTheAnswer) {
  ProcessSpec spec = shell("sleep 1000 & echo started");
  auto r = run(std::move(spec));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->out, "started\n");
  EXPECT_FALSE(r->timed_out);
}

TEST_P(ProcessRunnerTest, DropsWhatGoesOverTheOutputLimit) {
  ProcessSpec spec = shell("head -c 3000000 /dev/zero; echo end >&2");
  spec.output_limit = 1000;
  auto r = run(std::move(spec));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->out.size(), 1000u);
  EXPECT_TRUE(r->truncated);
  EXPECT_EQ(r->err, "end\n");
}

TEST_P(ProcessRunnerTest, SaysWhatCouldNotBeDone) {
  ProcessSpec missing = shell("");
  missing.argv = {"no-such-program"};
  EXPECT_EQ(run(missing).error().code, ErrorCode::missing_program);
  missing.argv = {"/no/such/program"};
  EXPECT_EQ(run(missing).error().code, ErrorCode::missing_program);
  ProcessSpec folder = shell("true");
  folder.folder = "/no/such/folder";
  auto r = run(folder);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().what.find("/no/such/folder"), std::string::npos);
}

TEST_P(ProcessRunnerTest, BecomesAnotherUserWithoutOurGroups) {
  ASSERT_EQ(geteuid(), 0u) << "the tests of Sickbay run as root";
  ProcessSpec spec = shell("id -u; id -g; id -G; ulimit -n");
  spec.as_user = ProcessSpec::Credentials{"nobody", 65534, 65534};
  spec.limits = {{"NOFILE", 77}};
  auto r = run(std::move(spec));
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->out, "65534\n65534\n65534\n77\n");
}

TEST_P(ProcessRunnerTest, ANameServiceThatHangsHoldsUpTheProgramThatNeedsItAlone) {
  std::promise<void> back;
  std::shared_future<void> hangs = back.get_future().share();
  auto loop = GetParam().make();
  auto runner = make_process_runner(*loop, false, [hangs](const std::string& user, std::uint32_t gid) {
    if (user == "nobody") hangs.wait();
    return HostGroups::Groups{gid, 4711};
  });
  std::string order;
  ProcessSpec needs_it = shell("id -G");
  needs_it.as_user = ProcessSpec::Credentials{"nobody", 65534, 65534};
  runner->run(needs_it, [&](Result<ProcessOutcome> r) {
    ASSERT_TRUE(r) << r.error().line();
    order += r->out;
    loop->stop();
  });
  ProcessSpec other = shell("id -G");
  other.as_user = ProcessSpec::Credentials{"daemon", 1, 1};
  runner->run(other, [&](Result<ProcessOutcome> r) {
    ASSERT_TRUE(r) << r.error().line();
    order += r->out;
    back.set_value();
  });
  loop->run();
  EXPECT_EQ(order, "1 4711\n65534 4711\n");
}

TEST_P(ProcessRunnerTest, AChildThatLeftTheGroupDoesNotHoldTheAnswer) {
  // It keeps our pipes open for longer than any time limit.
  ProcessSpec spec = shell("setsid sleep 1000 & echo $!");
  auto r = run(std::move(spec));
  ASSERT_TRUE(r);
  EXPECT_FALSE(r->timed_out);
  const pid_t left = std::stoi(r->out);
  EXPECT_EQ(::kill(left, SIGKILL), 0) << "setsid made it a stranger, and it was left alone";
}

TEST_P(ProcessRunnerTest, NothingOfOursReachesTheProgram) {
  // Not close-on-exec, and between two numbers that are given out.
  const int low = ::open("/dev/null", O_RDONLY), high = ::fcntl(low, F_DUPFD, 250);
  ASSERT_GE(low, 3);
  ProcessSpec spec = shell("ls /proc/self/fd | tr '\\n' ' '");
  spec.extra_fds = {{199, "x"}};
  auto r = run(std::move(spec));
  ::close(low), ::close(high);
  ASSERT_TRUE(r);
  // 3 is ls's own.
  EXPECT_EQ(r->out, "0 1 199 2 3 ");
}

TEST_P(ProcessRunnerTest, FindsTheProgramWithTheRightsOfItsUser) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "sickbay-runner-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  for (const auto& [room, mode] : {std::pair("closed", 0700), std::pair("open", 0755)}) {
    fs::create_directory(folder + "/" + room);
    std::ofstream(folder + "/" + room + "/tool") << "#!/bin/sh\necho " << room << "\n";
    ::chmod((folder + "/" + room + "/tool").c_str(), 0755);
    ::chmod((folder + "/" + room).c_str(), static_cast<mode_t>(mode));
  }
  fs::create_directory(folder + "/tool");  // a folder of that name is no program
  ProcessSpec spec;
  spec.argv = {"tool"};
  spec.environment = {"PATH=.:" + folder + ":" + folder + "/closed:" + folder + "/open"};
  auto r = run(spec);
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->out, "closed\n");
  spec.as_user = ProcessSpec::Credentials{"nobody", 65534, 65534};
  r = run(spec);
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->out, "open\n");
  spec.folder = folder + "/closed";
  r = run(spec);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::denied);
  EXPECT_NE(r.error().what.find("enter the folder"), std::string::npos) << r.error().what;
  fs::remove_all(folder);
}

TEST_P(ProcessRunnerTest, RefusesWhatItCannotGive) {
  ProcessSpec spec = shell("true");
  spec.limits = {{"NOSUCH", 1}};
  EXPECT_EQ(run(spec).error().code, ErrorCode::bad_input);
  spec = shell("true");
  spec.argv.push_back(std::string(4 << 20, 'x'));
  EXPECT_EQ(run(spec).error().code, ErrorCode::os);
}

TEST_P(ProcessRunnerTest, ProgramsRunBesideEachOther) {
  auto loop = GetParam().make();
  auto runner = make_process_runner(*loop);
  std::string order;
  ProcessSpec slow = shell("read line </dev/zero");
  slow.time_limit = std::chrono::milliseconds(300);
  runner->run(slow, [&](Result<ProcessOutcome> r) {
    ASSERT_TRUE(r);
    EXPECT_TRUE(r->timed_out);
    order += 's';
    loop->stop();
  });
  runner->run(shell("true"), [&](Result<ProcessOutcome> r) {
    ASSERT_TRUE(r);
    order += 'q';
  });
  loop->run();
  EXPECT_EQ(order, "qs");
}

TEST_P(ProcessRunnerTest, DroppedRunnersKillAndStaySilent) {
  auto loop = GetParam().make();
  auto runner = make_process_runner(*loop);
  runner->run(shell("while :; do :; done"), [](Result<ProcessOutcome>) { FAIL(); });
  ProcessSpec wrong = shell("true");
  wrong.argv.clear();
  runner->run(wrong, [](Result<ProcessOutcome>) { FAIL(); });
  runner.reset();
  loop->post([&] { loop->stop(); });
  loop->run();
}

// A program whose exec stands in the kernel until release(): its file is leased (fcntl(2), F_SETLEASE), for
// which whoever opens it waits, as for a server that hangs.
class HungProgram {
 public:
  explicit HungProgram(const std::string& name) : path_(::testing::TempDir() + "/" + name) {
    std::filesystem::copy_file("/bin/true", path_, std::filesystem::copy_options::overwrite_existing);
    ::signal(SIGIO, SIG_IGN);  // that somebody waits
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    // (A child that is just being made has the file open for a moment, as it has all of ours.)
    int leased = -1;
    for (int i = 0; i < 100'000 && leased != 0; ++i)
      if ((leased = ::fcntl(fd_, F_SETLEASE, F_WRLCK)) != 0) ::sched_yield();
    EXPECT_EQ(leased, 0) << std::strerror(errno);
  }
  HungProgram(const HungProgram&) = delete;
  HungProgram& operator=(const HungProgram&) = delete;
  ~HungProgram() {
    release();
    std::filesystem::remove(path_);
  }
  void release() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  ProcessSpec spec() const {
    ProcessSpec spec;
    spec.argv = {path_};
    return spec;
  }

 private:
  std::string path_;
  int fd_ = -1;
};

TEST_P(ProcessRunnerTest, AStartThatHangsHoldsUpNobodyElse) {
  HungProgram hung("hangs" + std::to_string(::getpid()) + GetParam().name);
  auto loop = GetParam().make();
  auto runner = make_process_runner(*loop);
  std::string order;
  // More than there are threads for.
  constexpr int kHung = 6;
  int over = 0;
  for (int i = 0; i < kHung; ++i)
    runner->run(hung.spec(), [&](Result<ProcessOutcome> r) {
      ASSERT_TRUE(r) << r.error().what;
      EXPECT_EQ(r->exit_code, 0);
      order += 'h';
      if (++over == kHung) loop->stop();
    });
  runner->run(shell("true"), [&](Result<ProcessOutcome> r) {
    ASSERT_TRUE(r);
    order += 'q';
    hung.release();
  });
  loop->run();
  EXPECT_EQ(order, "q" + std::string(kHung, 'h'));
}

TEST_P(ProcessRunnerTest, WhatHangsInItsStartIsKilledWhenItsTimeIsUpAndWhenNobodyWantsIt) {
  HungProgram hung("killed" + std::to_string(::getpid()) + GetParam().name);
  auto loop = GetParam().make();
  auto runner = make_process_runner(*loop);
  int over = 0;
  ProcessSpec late = hung.spec();
  late.time_limit = std::chrono::milliseconds(30);
  runner->run(late, [&](Result<ProcessOutcome> r) {
    ASSERT_TRUE(r);
    EXPECT_TRUE(r->timed_out);
    EXPECT_EQ(r->signal, SIGKILL);
    if (++over == 2) loop->stop();
  });
  ProcessSpec unwanted = hung.spec();
  unwanted.early_end = std::make_shared<EarlyEnd>();
  runner->run(unwanted, [&](Result<ProcessOutcome> r) {
    ASSERT_TRUE(r);
    EXPECT_TRUE(r->ended_early);
    EXPECT_FALSE(r->timed_out);
    if (++over == 2) loop->stop();
  });
  unwanted.early_end->ask("the test wants it so");
  loop->run();
}

TEST_P(ProcessRunnerTest, DroppedRunnersKillWhatHangsInItsStart) {
  HungProgram hung("dropped" + std::to_string(::getpid()) + GetParam().name);
  auto loop = GetParam().make();
  auto runner = make_process_runner(*loop);
  runner->run(hung.spec(), [](Result<ProcessOutcome>) { FAIL(); });
  while (::waitpid(-1, nullptr, WNOHANG) < 0) ::sched_yield();  // until there is a child
  runner.reset();
  // Its thread waits for it; then there is none of ours left.
  while (::waitpid(-1, nullptr, WNOHANG) == 0) ::sched_yield();
  loop->post([&] { loop->stop(); });
  loop->run();
}

TEST_P(ProcessRunnerTest, ARunnerThatAdoptsLeavesAloneWhatIsAnotherOnes) {
  auto loop = GetParam().make(), other_loop = GetParam().make();
  auto runner = make_process_runner(*loop);
  bool answered = false;
  runner->run(shell("exit 7"), [&](Result<ProcessOutcome> r) {
    ASSERT_TRUE(r);
    EXPECT_EQ(r->exit_code, 7);
    answered = true;
    loop->stop();
  });
  siginfo_t info{};
  // (It may not have begun yet.)
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) != 0) ASSERT_EQ(errno, ECHILD);
  auto adopts = make_process_runner(*other_loop, true);
  ProcessSpec bounded = shell("true");
  bounded.kill_strays = true;
  adopts->run(std::move(bounded), [&](Result<ProcessOutcome> r) {
    ASSERT_TRUE(r);
    other_loop->stop();
  });
  other_loop->run();
  loop->run();
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace sickbay
