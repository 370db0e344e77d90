// SPDX-License-Identifier: Apache-2.0
// What the kernel counted while V ran: evidence for what V found, and of what V alone cannot see.
//
// Counters that only rise, read before and after.  A node that is slow because it is hot counts throttling;
// one whose memory is failing counts corrected errors long before a word comes back wrong.
#pragma once
#include <map>
#include <string>

namespace sickbay::verify {

using KernelCounters = std::map<std::string, double>;  ///< name -> count, see the table in the .cc

/// All counters that this machine has, below `root`: heat throttling, memory errors corrected and not,
/// machine checks, errors and drops of real network devices, packets dropped in the receive queue.  Some 10
/// files, under 1 ms.
KernelCounters read_kernel_counters(const std::string& root = "");

/// Those that rose, by how much: "3 core_throttles, 12 nic_receive_errors"; "" where none did.
std::string what_rose(const KernelCounters& before, const KernelCounters& after);

}  // namespace sickbay::verify
