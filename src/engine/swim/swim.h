// SPDX-License-Identifier: Apache-2.0
// Swim: the nodes of one job watch each other, as one of them sees it.
//
// Each member asks its neighbour in a ring twice a second, and somebody by chance once a second.  Who does
// not answer is asked again and through others, who say whether they reach it; who answers nobody is
// suspected, is asked each round, and may refute it (a greater incarnation, or any sign of life).  One who
// stays suspected for Timing::suspicion while others say that they do not reach it either is told of as
// silent.  That is a report and no more: who acts on it looks for himself first (engine/detect).
//
// What keeps it from false alarms: who was never heard (here or in the group before) cannot fall silent; who
// hears nobody accuses nobody, and calls out to those who watch it; time in which the member itself did not
// run does not count, nor does a step of its clock.  Ideas: Das, Gupta, Motivala, SWIM (2002); Dadgar et al.,
// Lifeguard (2018).
//
// Pure: the same state, event, time and random numbers give the same answer.  No socket, no clock.  Source:
// doc/design/detect.md.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "model/swim_message.h"

namespace sickbay::swim {

/// The next random number, of 32 bits.
using Random = std::function<std::uint32_t()>;

struct Timing {
  Micros period{500'000};       ///< between two questions to the neighbour
  Micros again{70'000};         ///< after which a question is said again: a datagram may be lost
  Micros answer{200'000};       ///< after which it is said for the last time, and others are asked
  Micros favour{250'000};       ///< for which who is asked waits for the third
  Micros suspicion{1'800'000};  ///< from the end of the first round without an answer until it is told
  Micros say_again{2'000'000};  ///< between two reports on one who stays silent
  Micros hearsay{5'000'000};    ///< for which what others suspect is believed
  std::size_t helpers = 3;
};

/// How one member stands, as this one sees it.
struct Peer {
  SwimStanding standing = SwimStanding::alive;
  std::uint32_t incarnation = 0;
  bool accused = false;  ///< by our own questions; else what others say
  Micros since{0};       ///< of the standing; by State::clock, as all times here
  bool known = false;    ///< heard at least once, here or in the group before this one
  Micros heard{0};
  bool met = false;                     ///< heard in this group
  std::uint32_t run = 0, seq = 0;       ///< of its last message, where it was met
  std::map<SwimIndex, Micros> missing;  ///< who said that he does not reach it, and when
  Micros told{0};                       ///< when it was reported last
  int tell = 0;                         ///< messages that are still to carry this news
};

/// A question of ours that is under way.
struct Question {
  SwimIndex target = 0;
  std::uint32_t nonce = 0;
  Micros sent{0};
  int said = 1;  ///< times
  bool asked_others = false, over = false;
};
/// A question of another's that we pass on.
struct Favour {
  SwimIndex asker = 0, target = 0;
  std::uint32_t nonce = 0;  ///< the asker's
  Micros since{0};
};

struct State {
  std::uint32_t group = 0;
  SwimIndex self = 0;
  Timing timing;
  std::vector<Peer> peers;       ///< by index; our own standing is alive, its incarnation is ours
  std::vector<SwimIndex> ring;   ///< all members in an order that is the same for all
  std::size_t place = 0;         ///< ours in it
  std::vector<SwimIndex> turns;  ///< whom to ask by chance: shuffled anew when it is empty
  std::deque<Question> questions;
  std::vector<Favour> favours;
  std::vector<SwimIndex> news;  ///< those with Peer::tell
  std::uint32_t run = 0, seq = 0;
  std::uint64_t rounds = 0;
  Micros clock{0};  ///< how long this member has run
  TimePoint last = kNoTime;
  Micros next_round{0};
  Micros last_heard{0};  ///< from anybody
};

/// What the members say of one: for sickbayd.
struct Report {
  SwimIndex member = 0;
  bool silent = true;              ///< false: one who was told of answers again
  std::vector<SwimIndex> seen_by;  ///< who else does not reach it, sorted
  Micros silent_for{0};            ///< since it was heard here last
  friend bool operator==(const Report&, const Report&) = default;
};

struct Actions {
  std::vector<SwimMessage> send;  ///< each to its `to`
  std::vector<Report> reports;
  /// Members whom this one begins to doubt now: Timing::suspicion is left to ask them in another way.
  std::vector<SwimIndex> doubts;
  TimePoint wake_at = kNever;  ///< call tick() then
};

/// Whom this member heard in the groups before, and how long ago.
using HeardBefore = std::map<SwimIndex, Micros>;

/// A member of a group of `members` (2 to kMostSwimMembers), that of index `self`.  Whoever was heard before
/// can fall silent from the beginning: one that dies while its group is made anew, as it is when another one
/// has died, would be heard by nobody in the new one.
State begin(std::uint32_t group, std::size_t members, SwimIndex self, const Timing& timing, TimePoint now,
            Random& random, const HeardBefore& before = {});
/// Whom this member has heard, and how long ago.
HeardBefore heard(const State& state);
/// Time has passed.
Actions tick(State& state, TimePoint now, Random& random);
/// A message has come whose seal was right.  One for another group or member changes nothing.
Actions receive(State& state, const SwimMessage& message, TimePoint now, Random& random);

/// Whether this member has heard nobody for so long that it must doubt itself.
bool in_doubt(const State& state);

}  // namespace sickbay::swim
