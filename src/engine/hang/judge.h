// SPDX-License-Identifier: Apache-2.0
// Does a job hang?  From what its nodes tell of its ranks (model/rank_report.h).
//
// A deadlock is known at once: every rank of a program waits within MPI for ranks of that program, none has
// left its call, all at the same time and for `soon`, with nothing on its way between them; the returns of
// their calls were counted, there was none, and no other thread could release them (standing.h).  Whatever
// else there is may end: a rank that computes while others wait is slow, until it has been so for `late`,
// which only the site can say; storage, programs that are yet to start, and a thread that may go on likewise.
// Where the network still carries bytes a long message may be on its way: `doubtful`.  A program none of
// whose ranks waits does not hang.
//
// Ranks that ask MPI again and again for what does not come do not wait, and a thread of theirs may change
// what they hold: of these nothing tells but that all get nowhere, and nothing is sent.  That is a suspicion
// and never a hang, for a program that waits for its next order does the same.
//
// A hang may be told of without being proven; only one that is (`Judgement::proven`) may cost a job its life:
// nobody is left who could let its ranks go on.  Pure.
// Source: doc/design/identify.md, "Hangs".
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/rank_report.h"

namespace sickbay::hang {

struct Policy {
  Micros soon = std::chrono::seconds(4);  ///< of a wait that nobody can end
  /// Where data may be on its way, a rank is missing, or all ask MPI and get nowhere.
  Micros doubtful = std::chrono::seconds(60);
  Micros counted = std::chrono::seconds(1);  ///< the returns of calls, before a deadlock is told of
  Micros proven = std::chrono::seconds(4);   ///< the same, before it is proven
  Micros late = std::chrono::minutes(30);    ///< of a wait for somebody who computes
  Micros fresh = std::chrono::seconds(30);   ///< how long a node's word holds
};

/// What a node told last, and when it was heard; sickbayd's clock.
struct NodeWord {
  RankReport report;
  TimePoint heard = kNoTime;
};

enum class Word : std::uint8_t { progress, suspicion, hang };
std::string_view to_string(Word word);

/// Why it is held for what it is; the words are those of the API.
enum class Why : std::uint8_t {
  goes_on,      ///< progress
  unknown,      ///< a node tells nothing of late: nothing is decided
  deadlock,     ///< all ranks wait for each other
  in_doubt,     ///< they do, and it is not proven: data may be on its way, or a thread may release them
  waits_for,    ///< they wait for ranks that do not
  missing,      ///< they wait, and not all ranks are seen
  outside,      ///< they wait for storage or for other programs
  unread,       ///< they wait, and of some nobody can say
  no_progress,  ///< several programs, none of which goes on, each in its own way
  nowhere,      ///< they seem to go on, and nothing shows that any of them gets on
};
std::string_view to_string(Why why);

inline constexpr std::size_t kMostShown = 24;  ///< groups of ranks in a judgement

struct Judgement {
  Word word = Word::progress;
  bool nobody = false;  ///< there is no rank (any more) that could go on: that is not progress
  Why why = Why::goes_on;
  std::string text;               ///< one sentence; "" for progress
  std::string call;               ///< that the odd ranks are in, else that the most are in; "" outside MPI
  TaskIds odd;                    ///< who is not where the others are; empty where there is no such
  Micros held{0};                 ///< for so long all who wait have waited
  std::vector<RankGroup> groups;  ///< of all ranks, the odd ones first, then by size; kMostShown at most
  std::size_t left_out = 0;       ///< groups that are not shown
  std::vector<Unread> unread;
  bool proven = false;   ///< it is a hang, and nobody could let the ranks go on
  std::string unproven;  ///< why it is not; "" for progress, and where it is
  /// For so long nothing showed that any rank got on, whatever it seemed to do: RankGroup::nowhere of all.
  Micros nowhere{0};
  std::size_t ranks = 0;  ///< that it speaks of: they were seen of late, and have not ended
};

/// `nodes`: all nodes of the job.  Those of them that have no rank of it (an empty report) must be heard,
/// too.
Judgement judge(const std::map<std::string, NodeWord>& words, const std::vector<std::string>& nodes,
                const Policy& policy, TimePoint now);

/// As doc/formats/api.md, "ranks", says, and back.  Errors: bad_input.
Json to_json(const Judgement& judgement);
Result<Judgement> read_judgement(const Json& json);

}  // namespace sickbay::hang
