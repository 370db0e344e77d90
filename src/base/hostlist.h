// SPDX-License-Identifier: Apache-2.0
// Hostlist: Slurm's text for many node names, `n[1-3,07-12],gpu5,rack[0-1]n[1-4]`, both ways.
//
// A name is cut into a prefix and a number at its end; a bracket stands for a set of numbers, and more than
// one bracket in a name for their product.  The width of a range's first number is the width of all its
// numbers, so 07-12 gives 07 ... 12 and 7-12 gives 7 ... 12.
// What differs from Slurm 22.05, on purpose: what it reads in a way nobody meant is an error here
// (`n[1` gives it the node "n]", `n[1, 2]` the nodes n1 and n02), and a text after the last bracket,
// which it refuses, is accepted.
// Every text from outside is bounded: names are counted before the first one is made.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay {

inline constexpr std::size_t kMaxHostlistNames = 4'000'000;  ///< in one text
inline constexpr std::size_t kMaxHostNameLength = 255;       ///< of one name (RFC 1035, 2.3.4)

/// The names of a hostlist in the order of the text, repeated ones repeated.
///
/// Names are parted by commas or blanks; empty ones are skipped, as Slurm does.  Empty for "", and for
/// "(null)" and "None assigned", which scontrol and sacct print for a job without nodes.
/// Errors: bad_input with the column (from 1), the cause and the remedy.  O(bytes out).
Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t most = kMaxHostlistNames);

/// The short text of a set of names: sorted by host_less, repeated and empty ones dropped, successive
/// numbers as ranges; racks with the same nodes are folded: `rack[0-1]n[1-4]`.
///
/// Equal sets have equal texts, and expand_hostlist of it gives the sorted set again.  No range is longer
/// than the 65536 numbers that Slurm reads.  The names must be such as expand_hostlist gives.
/// O(n) for sorted names, else O(n log n).
std::string compress_hostlist(std::span<const std::string> names);

/// The natural order: prefix, then width of the number, then number, so n2 < n10 and r2n1 < r10n1.
/// (Width before number keeps each range in one piece where a cluster has both n1 and n01.)
bool host_less(std::string_view a, std::string_view b);

// Sets of names are vectors that sorted_hosts made; what they return is sorted again.  All O(n).
std::vector<std::string> sorted_hosts(std::vector<std::string> names);  ///< sorted, each once
bool has_host(std::span<const std::string> set, std::string_view name);
std::vector<std::string> hosts_in_either(std::span<const std::string> a, std::span<const std::string> b);
std::vector<std::string> hosts_in_both(std::span<const std::string> a, std::span<const std::string> b);
std::vector<std::string> hosts_without(std::span<const std::string> a, std::span<const std::string> b);

}  // namespace sickbay
