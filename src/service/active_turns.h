// SPDX-License-Identifier: Apache-2.0
// ActiveTurns: which nodes may run active checks now, and whose turn is next.  Pure: the clock is the
// caller's.
//
// A node that wants to waits in one of two lines, one for runs of periods and one for runs that somebody
// ordered; where both have somebody who could begin, a free place goes to one line and then to the other.  In
// a line the node goes first whose last turn is longest ago, then the one that came first.  So nobody
// starves: while a node waits and could begin, no other one of its line gets two turns.  That holds from one
// night to the next, too, where the hours of a period are too short for all: who had no turn goes first then.
//
// Leave is lent for kLease at a time, and anew with each word of an agent that uses it; an agent that has
// gone away needs to give nothing back.  An agent counts from the moment at which it asked, so its leave
// never lasts longer than it is counted here.  Nothing of this is kept when sickbayd ends: for one lease
// after its start, or until all agents that it knows have been heard, it gives none, and by then what was
// lent before is over, or its holder has said that it holds it.  (Only who had a turn last is forgotten.)
// Source: doc/design/diagnose.md, "Active checks".
#pragma once
#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/active_word.h"

namespace sickbay {

class ActiveTurns {
 public:
  /// Long enough for a restart of sickbayd, after which agents come back within a minute and a half.
  static constexpr std::chrono::minutes kLease{5};
  /// Who has not been heard for so long gets no turn: agents poll every 30 s.  It keeps its place for a
  /// while.
  static constexpr std::chrono::seconds kSilent{50};
  static constexpr std::chrono::minutes kForget{15};

  /// At most `most` nodes at once, over 0; `started` is when sickbayd was.
  ActiveTurns(int most, TimePoint started) : most_(most), started_(started) {}

  /// What the agent of `node` says with a poll.
  void hear(const std::string& node, ActiveWord word, TimePoint now);
  /// It is there, but says nothing new.
  void still_there(const std::string& node, TimePoint now);
  /// All that may have leave of before the start have been heard.
  void settle(TimePoint now) { started_ = std::min(started_, now - kLease); }
  /// Leave out of turn, for somebody who waits for the answer.  It is counted, so others get theirs later.
  void lend(const std::string& node, TimePoint now);
  /// Gives the places that are free, and ends what has run out.  The nodes that have leave since then.
  std::vector<std::string> give(TimePoint now);

  /// Whether the agent of `node` has leave of which it has not said yet that it uses it.
  bool is_news(const std::string& node, TimePoint now) const;
  /// How long the leave of `node` lasts, told now: anew where it is in use; 0: it has none.
  Micros tell(const std::string& node, TimePoint now);

  /// What becomes of `node`, for people.
  struct View {
    std::string_view state;  ///< "holds", "waits", "later"; "" for a node that wants nothing
    TimePoint since = kNoTime;
  };
  View view(const std::string& node) const;
  int most() const { return most_; }
  std::size_t holding() const { return leases_.size(); }
  std::size_t waiting() const { return waiting_.size(); }
  /// When give() has something to do, after `now`, though nobody says anything; kNever: then never.
  TimePoint next(TimePoint now) const;

 private:
  struct Lease {
    TimePoint since = kNoTime, until = kNoTime;
    bool used = false;  ///< its holder has said so
  };
  struct Place {  ///< the order of a line
    TimePoint last_turn = kNoTime;
    std::int64_t came = 0;
    std::string node;
    auto operator<=>(const Place&) const = default;
  };
  enum Line : std::size_t { kPeriods, kOrdered };
  struct Waiting {
    Place place;
    Line line = kPeriods;
    bool ready = false;  ///< it stands in `ready_`
    TimePoint since = kNoTime, heard = kNoTime;
  };

  void join(const std::string& node, ActiveWord word, TimePoint now);
  void leave_line(const std::string& node);
  /// `was_turn`: its node has had its turn.
  void end_lease(std::map<std::string, Lease>::iterator lease, bool was_turn, TimePoint now);
  void set_ready(Waiting& waiting, bool ready);
  /// The first of the line that is there; null: none.
  const Waiting* first_of(Line line, TimePoint now);
  void forget(TimePoint now);

  const int most_;
  TimePoint started_;
  std::map<std::string, Lease> leases_;
  std::map<std::string, Waiting> waiting_;
  std::array<std::set<Place>, 2> ready_;        ///< by line: who could begin, in order
  std::map<std::string, TimePoint> last_turn_;  ///< when it ended
  Line turn_of_ = kPeriods;                     ///< the line that goes first where both have somebody
  std::int64_t came_ = 0;
  TimePoint swept_ = kNoTime;
};

}  // namespace sickbay
