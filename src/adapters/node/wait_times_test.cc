// SPDX-License-Identifier: Apache-2.0
// What the kernel counts of real processes: under a quota, beside another on one processor, stopped, asleep.
#include "adapters/node/wait_times.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

namespace sickbay::node {
namespace {

using namespace std::chrono_literals;

// A process that spins, or sleeps, until the test ends.
class Spinner {
 public:
  explicit Spinner(bool sleeps = false, int cpu = -1) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::alarm(120);
    if (cpu >= 0) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(static_cast<unsigned>(cpu), &set);
      (void)::sched_setaffinity(0, sizeof set, &set);
    }
    for (volatile bool sleep = sleeps;;)
      if (sleep) ::pause();
  }
  ~Spinner() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Spinner(const Spinner&) = delete;
  std::int64_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// A control group with a quota, in percent of a processor; of either version.
class Quota {
 public:
  explicit Quota(int percent) {
    const bool v2 = ::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
    path_ = fmt::format("/sys/fs/cgroup{}/sickbay-test-{}", v2 ? "" : "/cpu", ::getpid());
    if (v2) put("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
    if (::mkdir(path_.c_str(), 0755) != 0) return;
    made_ = v2 ? put(path_ + "/cpu.max", fmt::format("{} 100000", percent * 1000))
               : put(path_ + "/cpu.cfs_period_us", "100000") &&
                     put(path_ + "/cpu.cfs_quota_us", std::to_string(percent * 1000));
  }
  ~Quota() {
    for (int tries = 0; tries < 500 && ::rmdir(path_.c_str()) != 0 && errno == EBUSY; ++tries)
      ::usleep(10'000);  // (who was in it is about to end)
  }
  Quota(const Quota&) = delete;
  bool holds(std::int64_t pid) const { return made_ && put(path_ + "/cgroup.procs", std::to_string(pid)); }

 private:
  static bool put(const std::string& file, const std::string& text) {
    std::ofstream out(file);
    out << text << std::flush;
    return static_cast<bool>(out);
  }
  std::string path_;
  bool made_ = false;
};

class WaitTimesTest : public testing::Test {
 protected:
  // Looks again and again until `enough` holds of what passed since the first look; false: in vain.
  struct Passed {
    double seconds = 0, ran = 0, waited = 0;
    std::int64_t throttled = -1;
  };
  bool until(std::int64_t pid, const std::function<bool(const Passed&)>& enough) {
    const auto first = reader.count({pid}, true);
    EXPECT_TRUE(first && first->processes.size() == 1);
    if (!first || first->processes.size() != 1) return false;
    for (int tries = 0; tries < 1000; ++tries) {
      const auto now = reader.count({pid}, true);
      if (!now || now->processes.empty()) return false;
      const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
      const ThreadCounts &a = first->processes[0].threads[0], &b = now->processes[0].threads[0];
      last = {seconds(now->at - first->at), seconds(b.ran - a.ran), seconds(b.waited - a.waited),
              now->processes[0].throttled};
      if (enough(last)) return true;
      ::usleep(20'000);
    }
    return false;
  }
  std::string shown() const {
    return fmt::format("{} s: ran {} s, waited {} s, throttled {} us", last.seconds, last.ran, last.waited,
                       last.throttled);
  }
  char state(std::int64_t pid) const {
    const auto states = reader.states({pid});
    return states.empty() ? 'X' : states[0].second;
  }
  bool comes_to(std::int64_t pid, char wanted) const {
    for (int tries = 0; tries < 1000; ++tries) {
      if (state(pid) == wanted) return true;
      ::usleep(5'000);
    }
    return false;
  }

  Tree tree{"/"};
  TimesReader reader{tree};
  Passed last;
};

TEST_F(WaitTimesTest, AThrottledProcessWaits) {
  const Quota quota(10);
  const Spinner spins;
  ASSERT_TRUE(quota.holds(spins.pid())) << "control groups of the processor, and root, are needed";
  EXPECT_TRUE(until(spins.pid(), [](const Passed& p) { return p.ran > 0 && p.waited > 1; })) << shown();
  EXPECT_GT(last.waited, last.ran * 3) << shown();
  EXPECT_GT(last.throttled, 0) << shown();
}

TEST_F(WaitTimesTest, TwoOnOneProcessorWait) {
  const Spinner one(false, 0), other(false, 0);
  EXPECT_TRUE(until(one.pid(), [](const Passed& p) { return p.waited > 0.5 && p.ran > 0; })) << shown();
  const auto counts = reader.count({one.pid()}, true);
  ASSERT_TRUE(counts && counts->processes.size() == 1 && counts->processes[0].threads.size() == 1);
  EXPECT_EQ(count_cpus(counts->processes[0].threads[0].cpus), 1u);
}

TEST_F(WaitTimesTest, OneThatSleepsAsksForNoProcessor) {
  const Spinner sleeps(true);
  ASSERT_TRUE(comes_to(sleeps.pid(), 'S'));
  EXPECT_TRUE(until(sleeps.pid(), [](const Passed& p) { return p.seconds > 0.5; }));
  EXPECT_LT(last.waited, 0.01) << shown();
}

TEST_F(WaitTimesTest, StoppedIsSeenAtTheState) {
  const Spinner spins;
  ASSERT_EQ(::kill(static_cast<pid_t>(spins.pid()), SIGSTOP), 0);
  EXPECT_TRUE(comes_to(spins.pid(), 'T'));
  // It asks for nothing while it is stopped.
  EXPECT_TRUE(until(spins.pid(), [](const Passed& p) { return p.seconds > 0.3; }));
  EXPECT_LT(last.waited, 0.01) << shown();
  ASSERT_EQ(::kill(static_cast<pid_t>(spins.pid()), SIGCONT), 0);
  EXPECT_TRUE(comes_to(spins.pid(), 'R'));
}

TEST_F(WaitTimesTest, WhatIsGoneIsLeftOut) {
  std::int64_t pid = 0;
  {
    const Spinner spins;
    pid = spins.pid();
    EXPECT_EQ(reader.count({pid}, true)->processes.size(), 1u);
  }
  EXPECT_TRUE(reader.count({pid}, false)->processes.empty());
  EXPECT_TRUE(reader.states({pid}).empty());
  const auto nobody = reader.count(4'000'000'000, 60001, true);
  ASSERT_TRUE(nobody);
  EXPECT_TRUE(nobody->processes.empty()) << "no such job";
}

TEST(WaitTimesParsers, ReadWhatTheKernelWrites) {
  const auto thread = parse_schedstat("846714272 1361295592 221\n");
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->ran, 846714272ns);
  EXPECT_EQ(thread->waited, 1361295592ns);
  EXPECT_FALSE(parse_schedstat("x 1"));
  EXPECT_FALSE(parse_schedstat("-1 1"));
  EXPECT_EQ(parse_children("7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 10 20 300 40 20 0 1 0 5"), 340);
  EXPECT_EQ(parse_children("7"), 0);
  EXPECT_EQ(cpu_stat_file("3:cpuset:/\n1:cpu,cpuacct:/job_1\n0::/x\n"), "/sys/fs/cgroup/cpu/job_1/cpu.stat");
  EXPECT_EQ(cpu_stat_file("0::/system.slice/job_1\n"), "/sys/fs/cgroup/system.slice/job_1/cpu.stat");
  EXPECT_EQ(cpu_stat_file("0::/../../etc\n"), "");
  EXPECT_EQ(parse_throttled("nr_periods 60\nnr_throttled 3\nthrottled_time 5000000\n"), 5000);
  EXPECT_EQ(parse_throttled("usage_usec 1\nthrottled_usec 7\n"), 7);
  EXPECT_EQ(parse_throttled(""), -1);
}

}  // namespace
}  // namespace sickbay::node
