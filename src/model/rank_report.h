// SPDX-License-Identifier: Apache-2.0
// RankReport: how the ranks of a job on one node stand, in groups, as an agent tells sickbayd.
//
// Ten thousand nodes tell each of them, so that what is the same is told once: ranks of one program that
// stand alike, in the same call and on the same path, are one group.  The merged groups of a whole job are
// the evidence that the journal keeps.  Source: doc/design/identify.md, "Hangs".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/rank_look.h"
#include "model/task_ids.h"

namespace sickbay {

/// How a rank stands.
enum class Standing : std::uint8_t {
  waits,          ///< within a call of MPI, and has not left it
  waits_outside,  ///< the same, in a call that waits for storage or for other programs
  moves,          ///< within MPI, and data or its own place changes
  computes,       ///< outside MPI, and uses the processor
  still,          ///< outside MPI, and has not run
  disk,           ///< in the kernel's uninterruptible sleep
  stopped,        ///< by a signal or a debugger
  starved,        ///< would run, and gets no processor
  ended,          ///< is not there any more
  unread,         ///< its stack could not be read
};
inline constexpr std::size_t kStandings = static_cast<std::size_t>(Standing::unread) + 1;
std::string_view to_string(Standing standing);
/// Within a call of MPI that it has not left.
constexpr bool is_wait(Standing s) { return s == Standing::waits || s == Standing::waits_outside; }

/// Why it is not proven that ranks that wait do not go on.
enum class Doubt : std::uint8_t {
  none,
  uncounted,  ///< whether their calls return was not counted
  thread,     ///< another thread of one of them may go on by itself, and release them
};
inline constexpr std::size_t kDoubts = static_cast<std::size_t>(Doubt::thread) + 1;
std::string_view to_string(Doubt doubt);

struct RankGroup {
  std::string world;
  std::int64_t size = -1;  ///< of the program; -1 unknown
  Standing standing = Standing::unread;
  std::string call;  ///< of MPI, the outermost: "MPI_Recv"; "" outside
  std::string path;  ///< "MPI_Recv < exchange < main"; of one that is unread, why
  TaskIds ranks;
  Micros held{0};  ///< each of them has stood so for at least so long
  /// Of `held` at least so long the returns of their calls were counted: there was none, and no doubt since.
  Micros proven{0};
  Doubt doubt = Doubt::uncounted;
  std::string doubt_text = {};  ///< of what: "thread 4712 in clock_nanosleep < listen"; "" without one
  /// For so long nothing showed that any of them got on, and nothing went over the node's connections: they
  /// wait, or ask again and again whether something has come.  0: that is not so, or not known.
  Micros nowhere{0};
  friend bool operator==(const RankGroup&, const RankGroup&) = default;
};

struct RankReport {
  std::vector<RankGroup> groups;
  std::int64_t network_rate = -1;  ///< bytes a second through the node's interfaces; -1 not readable
  std::int64_t unsent_bytes = -1;  ///< RankLook::unsent_bytes
  std::int64_t socket_rate = -1;   ///< bytes a second over the ranks' own TCP connections; -1 not known
  /// For so long nothing was on its way on this node: the three above.
  Micros calm{0};
  std::vector<Unread> unread;
  friend bool operator==(const RankReport&, const RankReport&) = default;
};

inline constexpr std::size_t kMostGroups = 256;  ///< of a node
inline constexpr std::size_t kMostPath = 600;    ///< characters
inline constexpr std::size_t kMostDoubt = 300;   ///< characters

Json to_json(const RankGroup& group);
/// Errors: bad_input.
Result<RankGroup> read_rank_group(const Json& json);
Json to_json(const RankReport& report);
/// Errors: bad_input.
Result<RankReport> read_rank_report(const Json& json);

/// "ranks 0-2,4-7: MPI_Allreduce < solve < main", the list of ranks cut where it is long.
std::string text_of(const RankGroup& group);
/// "rank 3", "ranks 0-2,4-7", "5000 ranks (0,2,4,...)".
std::string ranks_text(const TaskIds& ranks);

}  // namespace sickbay
