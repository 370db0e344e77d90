// SPDX-License-Identifier: Apache-2.0
// Counters as folders of real files, before and after.
#include "kernel_counters.h"

#include <gtest/gtest.h>

#include "root_test_parts.h"

namespace sickbay::verify {
namespace {

TEST(KernelCounters, SumsWhatThereIs) {
  const Root root;
  EXPECT_TRUE(read_kernel_counters(root.path).empty());
  root.write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
  root.write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
  root.write("sys/devices/system/cpu/online", "0-1\n");
  root.write("sys/devices/system/edac/mc/mc0/ce_count", "12\n");
  root.write("sys/class/net/eth0/device/x", "");
  root.write("sys/class/net/eth0/statistics/rx_errors", "5\n");
  root.write("sys/class/net/veth9/statistics/rx_errors", "500\n");
  root.write("proc/interrupts",
             "           CPU0       CPU1\n  0:  9  9 timer\n MCE:   1   2   Machine check exceptions\n");
  root.write("proc/net/softnet_stat", "0000 0000000a 0\n0000 00000001 0\nnonsense\n");
  const KernelCounters counters = read_kernel_counters(root.path);
  const KernelCounters expected = {{"core_throttles", 7},
                                   {"machine_checks", 3},
                                   {"memory_errors_corrected", 12},
                                   {"nic_receive_errors", 5},
                                   {"receive_queue_drops", 11}};
  EXPECT_EQ(counters, expected);
}

TEST(KernelCounters, TellsWhatRose) {
  const KernelCounters before = {{"core_throttles", 7}, {"memory_errors", 0}, {"nic_missed", 9}};
  EXPECT_EQ(what_rose(before, before), "");
  EXPECT_EQ(what_rose(before, {{"core_throttles", 10}, {"memory_errors", 1}, {"nic_missed", 9}}),
            "3 core_throttles, 1 memory_errors");
  EXPECT_EQ(what_rose(before, {{"core_throttles", 2}}), "") << "a counter that began anew";
  EXPECT_EQ(what_rose({}, {{"core_throttles", 2}}), "") << "nothing to compare with";
}

}  // namespace
}  // namespace sickbay::verify
