// SPDX-License-Identifier: Apache-2.0
// What the kernel counts of a rank and of its network: a few small files of /proc, read in one round.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "adapters/node/tree.h"
#include "adapters/node/use_of_job.h"
#include "adapters/ranks/find.h"
#include "model/rank_look.h"

namespace sickbay::ranks {

/// The rank as it stands at `at`; state 'X' where it has ended, or its number is another process's now; 'T'
/// also where its control group is frozen.
RankRound count(const node::Tree& tree, const FoundRank& rank, TimePoint at);

/// Processor time that this process has used, in microseconds.
std::int64_t own_cpu();
/// By which the kernel counts processor time.
std::int64_t ticks_per_second();

/// A thread of a rank, and the processor time that it has used, in ticks.
struct ThreadTicks {
  std::int64_t tid = 0, ticks = 0;
  char state = '?';
};
/// All threads but the first, `most` at most.
std::vector<ThreadTicks> other_threads(const node::Tree& tree, std::int64_t pid, std::size_t most);

/// Bytes in and out of all interfaces in the network namespace of `pid`; nothing where it cannot be read.
std::optional<std::int64_t> network_bytes(const node::Tree& tree, std::int64_t pid);
/// The TCP connections of the network namespace of `pid`, asked once for both that follow: the kernel goes
/// through its whole table for them, which takes as long as a tenth of a look.  Nothing where that is another
/// network than ours, or the kernel does not tell.
std::optional<node::TcpBytesByInode> connections_of(const node::Tree& tree, std::int64_t pid);
/// Bytes not acknowledged of `uid`'s TCP connections there.  Without `connections` from the files of /proc.
std::optional<std::int64_t> unsent_bytes(const node::Tree& tree, std::int64_t pid, std::int64_t uid,
                                         const std::optional<node::TcpBytesByInode>& connections);
/// Bytes in and out of the TCP connections that processes `pids` hold, since these were opened; nothing where
/// they are in another network than we are, their files cannot be listed, or the kernel does not tell.
std::optional<std::int64_t> carried_bytes(const node::Tree& tree, const std::vector<std::int64_t>& pids,
                                          const std::optional<node::TcpBytesByInode>& connections);

// Their parsers: total.
std::int64_t parse_net_dev(std::string_view text);
std::int64_t parse_unsent(std::string_view tcp, std::int64_t uid);

}  // namespace sickbay::ranks
