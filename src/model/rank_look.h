// SPDX-License-Identifier: Apache-2.0
// RankLook: what one look at the ranks of a job on one node has seen, as `sickbay-ranks` prints it.
//
// A look has several rounds, some hundred milliseconds apart: in each the counters of every rank are read,
// and its stack is taken.  Equal stacks are given once.  The text is JSON lines, one for each rank and a
// last one for the node.  It comes from a program that has read files of users, so there is one parser, it is
// bounded, and no name in what it gives has a control character.  Format: doc/formats/ranks.md.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace sickbay {

inline constexpr std::size_t kMostRanksOfNode = 4096;  ///< that one look tells of
inline constexpr std::size_t kMostFrames = 64;         ///< of one stack
inline constexpr std::size_t kMostLookText = std::size_t{32} << 20;
inline constexpr std::size_t kMostRounds = 16;
inline constexpr std::size_t kMostThreads = 4;     ///< of a rank, whose stacks are taken
inline constexpr std::size_t kMostOthers = 24;     ///< OtherThread of a rank
inline constexpr std::size_t kMostReturns = 1024;  ///< CallReturn of a node

/// One frame of a stack.
struct RankFrame {
  std::string function;  ///< "solve"; "a.out+0x11d0" where there is no symbol; "..." for those left out
  std::string module;    ///< file name of its library or program; "" unknown
  bool program = false;  ///< that module is the program itself, no library
  friend bool operator==(const RankFrame&, const RankFrame&) = default;
};

/// A stack, innermost frame first.
struct RankStack {
  std::vector<RankFrame> frames;
  /// Digest of what the user's part of the stack holds: of the frames outside the outermost call of MPI with
  /// the registers that they have saved, and of the program's static variables; of all frames where there is
  /// no such call.  Who has not left the call since
  /// has the same.
  std::uint64_t held = 0;
  bool whole = false;  ///< up to the thread's first function
  /// Where the thread goes on when its outermost call of MPI returns; 0: it is in none.
  std::uint64_t back = 0;
  friend bool operator==(const RankStack&, const RankStack&) = default;
};

/// What was seen of a rank in one round.
struct RankRound {
  TimePoint at = kNoTime;
  char state = '?';            ///< /proc/PID/stat: R, S, D, T, t, Z; 'X': it has ended meanwhile
  std::int64_t cpu_us = 0;     ///< of all its threads, since it began
  std::int64_t switches = 0;   ///< of its first thread, voluntary or not
  std::int64_t io_bytes = -1;  ///< read and written by calls; -1 not readable
  /// Places in Rank::stacks: its first thread's, then those of other threads that use the processor.
  std::vector<std::uint32_t> stacks;
  std::vector<std::int64_t> threads;  ///< whose each of them is; may be shorter, where that is not known
  std::string why;  ///< why there is no stack of its first thread; "" where there is, or none was wanted
  friend bool operator==(const RankRound&, const RankRound&) = default;
};

/// A call of MPI whose return is to be seen: RankStack::back of a thread.
struct CallReturn {
  std::int64_t pid = 0, tid = 0;
  std::uint64_t back = 0;
  friend bool operator==(const CallReturn&, const CallReturn&) = default;
};

/// Whether it returned while that was counted, by the processor itself: nothing is missed.
struct CountedReturn {
  std::int64_t tid = 0;
  std::uint64_t back = 0;
  Micros counted{0};         ///< for so long it was
  std::int64_t returns = 0;  ///< the first one ends the count
  std::string why;           ///< why it was not counted; "" it was
  friend bool operator==(const CountedReturn&, const CountedReturn&) = default;
};

/// A thread of a rank that may go on without another thread of its process: it runs, or is in a call of the
/// kernel that ends by time or by something outside.
struct OtherThread {
  std::int64_t tid = 0;
  std::string call;         ///< of the kernel: "clock_nanosleep"; "" it runs
  std::int64_t stack = -1;  ///< place in Rank::stacks; -1: it was not read
  friend bool operator==(const OtherThread&, const OtherThread&) = default;
};

struct Rank {
  std::string world;  ///< which program of the job: "step 0", "script"; the same on all nodes
  std::int64_t rank = 0;
  std::int64_t size = -1;  ///< ranks of that program; -1 unknown
  std::int64_t pid = 0;
  std::string name;  ///< of the program
  std::vector<RankRound> rounds;
  std::vector<RankStack> stacks;
  std::vector<CountedReturn> returns = {};
  std::vector<OtherThread> others = {};  ///< in the last round, where it was asked for
  bool others_seen = false;              ///< it was
  std::int64_t others_left = 0;          ///< such threads beyond kMostOthers, or that nobody looked at
  friend bool operator==(const Rank&, const Rank&) = default;
};

/// Something that was not read, and why.
struct Unread {
  std::string what, why;
  friend bool operator==(const Unread&, const Unread&) = default;
};

struct RankLook {
  std::vector<Rank> ranks;  ///< by world and rank
  std::vector<Unread> unread;
  TimePoint at = kNoTime;  ///< of the last round; since the node's start
  /// Bytes that all interfaces of the ranks' network have carried between the first round and the last; -1
  /// not readable.  Those of other jobs are among them.
  std::int64_t network_bytes = -1;
  /// Bytes that TCP connections of the job's user have sent and that were not acknowledged, at the last
  /// round; -1 not readable.
  std::int64_t unsent_bytes = -1;
  /// Bytes that the ranks' own TCP connections have carried, in and out, since they were opened, at the last
  /// round; -1 not readable, or not asked for.
  std::int64_t socket_bytes = -1;
  std::int64_t cpu_us = 0;  ///< that the look itself took
  /// It was a glance (adapters/ranks/glance.h): each program that it was to look for goes on, and nothing
  /// else was looked at.
  bool goes_on = false;
  friend bool operator==(const RankLook&, const RankLook&) = default;
};

Json to_json(const std::vector<Unread>& unread);
/// The first `most` of them, as plain names.
std::vector<Unread> read_unread(const Json& json, std::size_t most);

/// The first `most` bytes of a name out of a user's file; what is no printable ASCII is '?'.
std::string plain_name(std::string_view text, std::size_t most);

/// The text, with a line end behind each line.
std::string format_rank_look(const RankLook& look);
/// Reads it.  Errors: bad_input, for no such text, and for one without its last line: it was cut off.
Result<RankLook> parse_rank_look(std::string_view text);

}  // namespace sickbay
