// SPDX-License-Identifier: Apache-2.0
// What the files of this room share.
#pragma once
#include "engine/swim/swim.h"

namespace sickbay::swim {

/// A member at work: the state, what it is to do, and where its random numbers come from.
struct Work {
  State& state;
  Random& random;
  Actions actions{};

  Peer& peer(SwimIndex member) { return state.peers[member]; }
  Peer& own() { return state.peers[state.self]; }
  std::size_t members() const { return state.peers.size(); }

  /// Counts the time since the last call: of a pause or a step at most one period, backwards nothing.
  void pass_time(TimePoint now);
  TimePoint at(Micros clock) const { return state.last + (clock - state.clock); }

  void say(SwimKind kind, SwimIndex to, std::uint32_t nonce, SwimIndex about = 0, bool heard = false);
  /// A question to `target`, which is under way from now on; `ask_others`: the others are asked at once.
  void question(SwimIndex target, bool ask_others);
  void ask_others(Question& question);

  // standing.cc
  /// It does not answer us.
  void accuse(SwimIndex member);
  /// It has answered, or somebody tells that it answered him.
  void is_alive(SwimIndex member);
  void hear_news(const SwimNews& news);
  /// Whom we suspect long enough is told of.
  void judge();
  void spread(SwimIndex member);
};

}  // namespace sickbay::swim
