// SPDX-License-Identifier: Apache-2.0
// The split of lost time, and the cgroup files of both versions as folders of real files.
#include "withheld.h"

#include <gtest/gtest.h>

#include "root_test_parts.h"

namespace sickbay::verify {
namespace {

TEST(CpuLoss, BlamesTheNodeOnlyForWhatItWithheld) {
  const struct {
    const char* what;
    CpuReading before, after;
    double waited, throttled, stopped, slowdown;
  } rows[] = {
      // The figures are those measured on two cores with kernel 6.18.
      {"idle node", {0, 0, 0, 0, 0}, {1, 1, 0, 0, 1}, 0, 0, 0, 1},
      {"three busy rivals", {0, 0, 0, 0, 0}, {1.87, 0.93, 0.94, 0, 0}, 0.94, 0, 0, 1},
      {"quota of 90 %", {5, 5, 5, 5, 5}, {5.952, 5.860, 5.092, 5.090, 6}, 0.002, 0.090, 0, 1.1047},
      {"quota of 50 %", {0, 0, 0, 0, 0}, {1.594, 0.819, 0.775, 1.171, 1.6}, 0, 0.775, 0, 1.9463},
      {"quota, cgroup not readable", {0, 0, 0, {}, 0}, {1, 0.5, 0.5, {}, 1.5}, 0, 0.5, 0, 2},
      {"rivals, cgroup not readable", {0, 0, 0, {}, 3}, {1, 0.5, 0.5, {}, 3}, 0.5, 0, 0, 1},
      {"stopped half of the time", {0, 0, 0, 0, 0}, {1, 0.5, 0, 0, 1}, 0, 0, 0.5, 2},
      // The clocks are read one after the other: what lies between is no fault of the node.
      {"ran little on a busy node", {0, 0, 0, 0, 0}, {1.03, 0.11, 0.91, 0, 0}, 0.91, 0, 0.01, 1},
      {"just too little", {0, 0, 0, 0, 0}, {2, 1.91, 0, 0, 0}, 0, 0, 0.09, 1},
      {"just enough", {0, 0, 0, 0, 0}, {2, 1.89, 0, 0, 0}, 0, 0, 0.11, 1.0582},
      // The host of a virtual machine had the processor meanwhile: busy, not stopped.
      {"stolen by the host",
       {.waited = 0, .throttled = 0, .stolen = 2},
       {.wall = 1, .ran = 0.6, .waited = 0, .throttled = 0, .idle = 1, .stolen = 2.4},
       0,
       0,
       0,
       1},
      {"stolen, and stopped besides",
       {.waited = 0, .throttled = 0, .stolen = 2},
       {.wall = 1, .ran = 0.5, .waited = 0, .throttled = 0, .idle = 1, .stolen = 2.1},
       0,
       0,
       0.4,
       1.8},
      // Nothing to tell by: nobody is blamed.
      {"no witness", {0, 0, {}, {}, {}}, {1, 0.5, {}, {}, {}}, 0.5, 0, 0, 1},
  };
  for (const auto& row : rows) {
    const CpuLoss loss = cpu_loss(row.before, row.after);
    EXPECT_NEAR(loss.waited, row.waited, 1e-3) << row.what;
    EXPECT_NEAR(loss.throttled, row.throttled, 1e-3) << row.what;
    EXPECT_NEAR(loss.stopped, row.stopped, 1e-3) << row.what;
    EXPECT_NEAR(loss.slowdown(), row.slowdown, 1e-3) << row.what;
  }
}

TEST(CpuLoss, ForeignIsWhatOthersUsedBesideIt) {
  const auto foreign = [](double used, double ran, int processors) {
    return cpu_loss({.used = 100, .processors = processors},
                    {.wall = 2, .ran = ran, .used = 100 + used, .processors = processors})
        .foreign;
  };
  EXPECT_NEAR(foreign(2, 2, 2), 0, 1e-9);
  EXPECT_NEAR(foreign(4, 2, 2), 0.5, 1e-9) << "the other of two processors";
  EXPECT_NEAR(foreign(4, 2, 40), 0.025, 1e-9);
  EXPECT_NEAR(foreign(1.9, 2, 2), 0, 1e-9) << "ticks are coarse";
  EXPECT_EQ(cpu_loss({}, {.wall = 1, .ran = 1}).foreign, 0) << "not readable";
}

TEST(CpuLoss, BusyIsWhatOthersHad) {
  const struct {
    const char* what;
    CpuLoss loss;
    double share;
  } rows[] = {
      {"nothing ran", {}, 0},
      {"alone", {.wall = 1, .ran = 1}, 0},
      {"load 8 on 2 processors", {.wall = 4, .ran = 1, .waited = 3}, 0.75},
      {"throttled", {.wall = 2, .ran = 1, .throttled = 1}, 0},
      {"asleep most of the time", {.wall = 10, .ran = 0.1, .waited = 0.01, .stopped = 9.89}, 0.01 / 0.11},
  };
  for (const auto& row : rows) EXPECT_NEAR(row.loss.busy_share(), row.share, 1e-9) << row.what;
}

TEST(CgroupCpu, ReadsVersionOneUpToTheTop) {
  const Root root;
  root.write("proc/self/cgroup", "9:name=systemd:/\n1:cpu,cpuacct:/lab/n3\n0::/\n");
  root.write("proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
  root.write("sys/fs/cgroup/cpu/lab/n3/cpu.stat",
             "nr_periods 22\nnr_throttled 20\nthrottled_time 412000000\n");
  root.write("sys/fs/cgroup/cpu/lab/n3/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/lab/cpu.cfs_quota_us", "70000\n");
  root.write("sys/fs/cgroup/cpu/lab/cpu.cfs_period_us", "100000\n");
  const CgroupCpu found = read_cgroup_cpu(root.path);
  EXPECT_NEAR(found.throttled.value_or(0), 0.412, 1e-9);
  EXPECT_NEAR(found.quota_cores.value_or(0), 0.7, 1e-9);
  EXPECT_EQ(found.quota_path, "/lab");
}

TEST(CgroupCpu, ReadsVersionTwoBelowAMountedSubtree) {
  const Root root;
  root.write("proc/self/cgroup", "0::/box/job\n");
  root.write("proc/self/mountinfo", "30 25 0:26 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/job/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 250000\n");
  root.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  const CgroupCpu found = read_cgroup_cpu(root.path);
  EXPECT_NEAR(found.throttled.value_or(0), 0.25, 1e-9);
  EXPECT_NEAR(found.quota_cores.value_or(0), 1.5, 1e-9);
}

TEST(CgroupCpu, IsSilentWhereNothingCanBeRead) {
  const Root root;
  EXPECT_FALSE(read_cgroup_cpu(root.path).throttled);
  root.write("proc/self/cgroup", "nonsense\n1:cpu:/n3\n");
  root.write("proc/self/mountinfo", "30 25 0:26 / /cg rw - cgroup cgroup rw,cpu\ntoo short\n");
  root.write("cg/n3/cpu.stat", "throttled_time");
  EXPECT_FALSE(read_cgroup_cpu(root.path).throttled);
  EXPECT_FALSE(read_cgroup_cpu(root.path).quota_cores);
}

}  // namespace
}  // namespace sickbay::verify
