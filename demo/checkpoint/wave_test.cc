// SPDX-License-Identifier: Apache-2.0
// The example programs, run by mpiexec: killed at any moment and begun again until they are done, their
// result is the same to the bit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <thread>

#include "checkpoint/checkpoint_test_parts.h"

namespace {

using sickbay::checkpoint::test::read_text;
using sickbay::checkpoint::test::TemporaryFolder;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr int kRanks = 4;

class Wave : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SICKBAY_SESSION", "SICKBAY_CKPT_RESTORED",
                             "SICKBAY_CHECKPOINT_MTTF", "SICKBAY_CHECKPOINT_FROM"})
      ::unsetenv(name);
    ::setenv("SICKBAY_CHECKPOINT_JOB", "17", 1);
    ::setenv("SICKBAY_CHECKPOINTS", (folder_ / "store").c_str(), 1);
    ::setenv("SICKBAY_CHECKPOINT_EVERY", "50ms", 1);
    ::setenv("SICKBAY_CHECKPOINT_TIMEOUT", "20s", 1);
  }
  void TearDown() override {
    if (mpiexec_ > 0) ::kill(mpiexec_, SIGTERM);  // (timeout passes it on)
  }
  // In a folder of the test; what it prints goes to the file out, and its errors past mpiexec to another:
  // that may end before it has handed on the last words of those it ends.
  void start(const std::string& program, int ranks, const std::string& words) {
    for (const char* name : {"out", "errors"}) std::filesystem::remove(folder_ / name);
    mpiexec_ = ::fork();
    if (mpiexec_ != 0) return;
    const std::string line = fmt::format("cd {} && exec timeout 100 " WAVE_MPIEXEC
                                         " -n {} sh -c 'exec " WAVE_PROGRAMS "/{} {} 2>> errors' > out 2>&1",
                                         folder_.path(), ranks, program, words);
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  int end() {
    int status = 0;
    EXPECT_EQ(::waitpid(mpiexec_, &status, 0), mpiexec_);
    mpiexec_ = 0;
    out_ = read_text(folder_ / "out") + read_text(folder_ / "errors");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(mpiexec_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == mpiexec_;
  }
  // The processes of the program below mpiexec.
  std::vector<pid_t> processes(const std::string& name) const {
    std::map<pid_t, std::pair<pid_t, std::string>> all;  // its parent and its name
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "stat");
      pid_t pid = 0, parent = 0;
      std::string comm, state;
      if (file >> pid >> comm >> state >> parent) all[pid] = {parent, comm};
    }
    std::vector<pid_t> found;
    for (const auto& [pid, one] : all) {
      if (one.second != "(" + name + ")") continue;
      pid_t above = one.first;
      while (above > 1 && above != mpiexec_) above = all.contains(above) ? all[above].first : 0;
      if (above == mpiexec_) found.push_back(pid);
    }
    return found;
  }
  template <class Condition>
  bool becomes(Condition condition) const {
    for (const auto until = std::chrono::steady_clock::now() + 60s;
         std::chrono::steady_clock::now() < until;) {
      if (condition()) return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }
  bool has_checkpoint() const {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "store/17", none)) {
      const std::string name = entry.path().filename().string();  // c12.json
      if (name.starts_with('c') && name.ends_with(".json")) return true;
    }
    return false;
  }
  // Of the line "wave: done at step 300, checksum 0123456789abcdef".
  std::string result() const {
    const auto at = out_.find("wave: done ");
    return at == std::string::npos ? "none in: " + out_ : out_.substr(at, out_.find('\n', at) - at);
  }

  const TemporaryFolder folder_;
  pid_t mpiexec_ = 0;
  std::string out_;
};

TEST_F(Wave, KilledAtAnyMomentItComesToTheSameResult) {
  ::setenv("SICKBAY_CHECKPOINT_EVERY", "1h", 1);
  start("wave", 1, "250 96");
  ASSERT_EQ(end(), 0) << out_;
  const std::string wanted = result();
  EXPECT_THAT(wanted, HasSubstr("checksum "));
  EXPECT_THAT(out_, HasSubstr("from step 0 of 250, checkpoint 0"));
  ::setenv("SICKBAY_CHECKPOINT_EVERY", "50ms", 1);

  std::mt19937 random(std::random_device{}());
  int killed = 0, went_on = 0;
  for (bool done = false; !done;) {
    start("wave", kRanks, "250 96 4");
    if (killed < 5) {
      std::vector<pid_t> all;
      ASSERT_TRUE(becomes([&] {
        all = processes("wave");
        return all.size() == kRanks || has_ended();
      }));
      // At any moment, and the last time when there is one to go on from: on a busy machine 700 ms may end
      // before the first.
      if (killed == 4)
        ASSERT_TRUE(becomes([&] { return has_checkpoint() || has_ended(); }));
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 700));
      if (all.size() == kRanks && !has_ended()) {
        ::kill(all[random() % kRanks], SIGKILL);
        ++killed;
      }
    }
    const int code = end();
    done = code == 0;
    const auto at = out_.find("checkpoint ");
    went_on += at != std::string::npos && out_[at + 11] != '0';
    ASSERT_THAT(out_, ::testing::Not(HasSubstr("error:")));
    ASSERT_TRUE(done || killed > 0) << out_;
    ASSERT_LE(killed, 5);
  }
  EXPECT_EQ(result(), wanted);
  EXPECT_GT(killed, 0);
  EXPECT_GT(went_on, 0) << "never from a checkpoint";
}

TEST_F(Wave, FilesAreWrittenWhenAskedForAndGoneOnFrom) {
  start("wave_files", 2, "200 64");
  ASSERT_EQ(end(), 0) << out_;
  const std::string wanted = result();
  start("wave_files", kRanks, "200 64 5");
  ASSERT_TRUE(becomes([&] { return read_text(folder_ / "out").find("from step 0") != std::string::npos; }));
  std::string was;
  for (int wish = 0; wish < 2; ++wish) {
    const auto all = processes("wave_files");
    ASSERT_EQ(all.size(), static_cast<std::size_t>(kRanks));
    for (const pid_t pid : all) ::kill(pid, SIGUSR1);
    // All have written the same step, another one than before.
    ASSERT_TRUE(becomes([&] {
      const std::string first = read_text(folder_ / "done.0");
      if (first.empty() || first == was) return false;
      for (int rank = 1; rank < kRanks; ++rank)
        if (read_text(folder_ / fmt::format("done.{}", rank)) != first) return false;
      return true;
    }));
    was = read_text(folder_ / "done.0");
  }
  for (const pid_t pid : processes("wave_files")) ::kill(pid, SIGKILL);
  EXPECT_NE(end(), 0);
  ::setenv("SICKBAY_CKPT_RESTORED", "1", 1);
  start("wave_files", kRanks, "200 64");
  EXPECT_EQ(end(), 0) << out_;
  EXPECT_THAT(out_, HasSubstr("from step " + was.substr(0, was.size() - 1) + " of 200"));
  EXPECT_EQ(result(), wanted);
}

TEST_F(Wave, ABadCallSaysHow) {
  start("wave", 1, "many");
  EXPECT_EQ(end(), 64);
  EXPECT_THAT(out_, HasSubstr("usage: "));
  ::unsetenv("SICKBAY_CHECKPOINT_JOB");
  start("wave", 2, "10 64");
  EXPECT_NE(end(), 0);
  EXPECT_THAT(out_, HasSubstr("remedy: run it in a job of Slurm"));
}

}  // namespace
