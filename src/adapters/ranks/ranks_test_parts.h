// SPDX-License-Identifier: Apache-2.0
// A real process for the tests of this room, which ends with its owner.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "adapters/ranks/find.h"
#include "adapters/ranks/look.h"

namespace sickbay::ranks {

class Target {
 public:
  /// Starts `program KIND` and waits until it says that it is there.
  Target(const char* program, const char* kind) {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execl(program, program, kind, nullptr);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = out[0];
    char byte = 0;
    EXPECT_EQ(::read(out_, &byte, 1), 1) << program;
  }
  ~Target() {
    end();
    ::close(in_);
    ::close(out_);
  }
  Target(const Target&) = delete;

  pid_t pid() const { return pid_; }
  /// Kills it, and waits until it is gone.
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  /// What it writes until it ends, and its exit code; -1: by a signal.
  std::pair<std::string, int> finish() {
    std::string text;
    std::array<char, 256> buffer;
    for (ssize_t n; (n = ::read(out_, buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(n));
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return {text, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  }
  /// Waits until it has used some processor time: it is where it was to get to.
  bool has_run() const {
    return until([](const node::ProcessStat& stat) { return stat.ticks > 0; });
  }
  /// Waits until it sleeps, where it was to get to.
  bool sleeps() const {
    return until([](const node::ProcessStat& stat) { return stat.state == 'S'; });
  }
  /// Waits until it is stopped.
  bool stands() const {
    return until([](const node::ProcessStat& stat) { return stat.state == 'T'; });
  }
  FoundRanks found() const {
    const node::Tree tree("/");
    node::ProcessTable table(tree);
    auto found = name_ranks(table, {pid_});
    EXPECT_TRUE(found && found->ranks.size() == 1);
    return found ? *found : FoundRanks();
  }

 private:
  template <class Condition>
  bool until(Condition holds) const {
    const node::Tree tree("/");
    for (int tries = 0; tries < 2000; ++tries) {
      const auto stat = node::process_stat(tree, std::to_string(pid_));
      if (stat && holds(*stat)) return true;
      ::usleep(10'000);
    }
    return false;
  }

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
};

/// Where the calls of MPI in which a look finds it come back to; empty, and a failure, where none finds it in
/// one.
inline std::vector<std::uint64_t> backs_of(const Target& target) {
  const node::Tree tree("/");
  LookOrder once;
  once.rounds = 1;
  once.patience = std::chrono::milliseconds(2000);
  std::vector<std::uint64_t> backs;
  for (int tries = 0; tries < 200 && backs.empty(); ++tries) {
    const auto look = look_at(tree, target.found(), once, [] { return Status(); });
    if (!look || look->ranks.size() != 1) break;
    for (const RankStack& stack : look->ranks[0].stacks)
      if (stack.back != 0) backs.push_back(stack.back);
  }
  EXPECT_FALSE(backs.empty()) << "it is in no call";
  return backs;
}

}  // namespace sickbay::ranks
