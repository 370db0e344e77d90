// SPDX-License-Identifier: Apache-2.0
// Candidate: one of two sickbayds, and whether it may act.
//
// It may while a majority of the witnesses have granted it a term, counted from before it asked them and
// shorter than they count (kDrift), so that a witness is free for the other only when this one has stopped.
// Who is not active looks first (a look changes nothing) and asks only when a majority would grant; the first
// grants are short, so that a round that came to nothing blocks nobody for long.
//
// Who begins must have all that was ever acknowledged.  The active says to the witnesses whether the other
// has it as well (SoleWord); a majority must know "I alone" before anything is acknowledged that the other
// has not.  Any two majorities share a witness, so whoever would begin with less hears of it, and does not,
// but for an operator's word (allow_loss()).  Nor does one whose journal lacks the term of that word: a host
// that was set up anew bears the same name and has nothing.
//
// Pure: the same state, message, time and random numbers give the same answer.  No clock, no I/O.  All times
// are of one clock that never steps.  Source: doc/design/standby.md.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/lease_message.h"

namespace sickbay::succession {

/// The next random number, of 32 bits.
using Random = std::function<std::uint32_t()>;

struct Timing {
  Micros lease{30'000'000};       ///< at most kLongestLease
  Micros first_lease{5'000'000};  ///< of a grant that is asked for to begin
  Micros renew{3'000'000};        ///< between two asks of the active
  Micros answer{2'000'000};       ///< for which a round waits for answers
  Micros silence{6'000'000};      ///< of the active, after which the other looks
  Micros pause{1'000'000};        ///< between two rounds at least; at most twice that
};

/// Of a length so much is taken off by him who relies on it: one part in so many.  Two clocks may differ by
/// one part in a hundred each; real ones do by one in two thousand, while they are being slewed.
inline constexpr int kDrift = 50;

enum class Role : std::uint8_t {
  waiting,  ///< the other is active, or nobody can be
  looking,  ///< would a majority grant?
  asking,
  active
};
std::string_view to_string(Role role);

struct State {
  std::string self;
  Timing timing;
  Role role = Role::waiting;
  std::int64_t term = 0;          ///< that is asked for or held
  std::int64_t highest = 0;       ///< that was heard of
  std::int64_t journal_term = 0;  ///< the highest of its journal
  std::int64_t serial = 0;
  struct Place {  ///< of one witness
    Micros until{0};
    std::int64_t knows_change = 0;      ///< of `sole`, in this term
    std::optional<LeaseAnswer> answer;  ///< of this round
  };
  std::vector<Place> witnesses;
  struct Sent {
    std::size_t witness = 0;
    Micros at{0}, length{0};
    std::int64_t term = 0, change = 0;
    bool look = false;
  };
  std::map<std::int64_t, Sent> sent;  ///< by serial; those of the last lease time
  SoleWord sole;                      ///< the newest that was heard; of this term: what we said
  bool prompt = false;                ///< it need not wait for the other to be silent
  bool may_lose = false;              ///< an operator said so
  bool lacks = false;                 ///< it could begin, but the other alone has all
  Micros heard{0};                    ///< the active
  Micros next_round{0}, round_began{0}, next_renewal{0};
};

struct Actions {
  std::vector<std::pair<std::size_t, LeaseAsk>> send;  ///< to which witness
  Micros wake_at = Micros::max();                      ///< call tick() then
};

/// `journal_term`: the highest term in its journal.  `prompt`: it was active last, or neither ever was and it
/// is the first of the two; so it asks at once, and the other later.
State begin(std::string self, std::size_t witnesses, const Timing& timing, std::int64_t journal_term,
            bool prompt, Micros now);
/// Time has passed.
Actions tick(State& state, Micros now, const Random& random);
/// A witness has answered.  One that comes late, twice, or for another round changes nothing wrongly.
Actions receive(State& state, std::size_t witness, const LeaseAnswer& answer, Micros now,
                const Random& random);
/// The other says that it is active, in `term`.
void heard_active(State& state, std::int64_t term, Micros now);

/// The beginning of `term` is in its journal, whose own or a copy's.
void journal_has(State& state, std::int64_t term);

/// Until when it holds the lease, by its own clock; 0 where it does not.
Micros lease_until(const State& state);
/// Whether it may begin an act that takes at most `longest`.
bool may_act(const State& state, Micros now, Micros longest = Micros(0));

/// The active says whether it alone has all that is acknowledged: first of all that it does, when the
/// beginning of its term is in its journal.
Actions say_sole(State& state, bool alone, Micros now);
/// A majority of the witnesses know what it said last.
bool is_sole_known(const State& state);

/// The active stops at once, and lets the other go first: it does not look for two lease times.
void step_down(State& state, Micros now);
/// An operator has it begin although the other alone has all that was acknowledged.
void allow_loss(State& state);

}  // namespace sickbay::succession
