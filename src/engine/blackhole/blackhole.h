// SPDX-License-Identifier: Apache-2.0
// The black hole engine: a node on which jobs of several users fail soon after their start, while the same
// kinds of jobs pass elsewhere, is found by that alone.
//
// Such a node is free again at once, so the scheduler gives it the next job, and the next.  Nothing on it
// need look wrong to an agent.  What speaks is what jobs came to (model/job_outcome.h), here as there:
//
//     apply()   keeps the last outcomes of each kind of job (a user and a program), bounded and fair: a user
//               with a thousand failures has no more room than one with ten (recent.h);
//     judge()   weighs, for a node on which jobs fail, "this node kills what starts on it" against four
//               other stories: these programs fail anyway, their user has just broken them, one of them is
//               broken for everybody, something is wrong everywhere since a moment ago (judge.h).  A
//               sequential test: it may look after every outcome, and stops at fixed odds;
//     decide()  says what the journal is to hear: that a node is a black hole, or is one no longer; or
//               suspicion, where nothing runs elsewhere that could tell, or one user's jobs alone speak:
//               then engine/patrol has the node verified, and what would have started there runs elsewhere
//               meanwhile.
//
// It acts on nothing: whether the node is drained is the drain engine's, under the one breaker.  No I/O, no
// clock, no policy: the figures below are part of what a journal means.  The subject of a decision is a node.
// Source: doc/design/blackhole.md.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/blackhole/judge.h"
#include "engine/blackhole/recent.h"
#include "engine/cluster/cluster.h"
#include "model/event.h"

namespace sickbay::blackhole {

/// Names the engine.
inline constexpr std::string_view kName = "blackhole";

/// A node on which somebody's job failed early.
struct Node {
  static constexpr int kFields = 5;  ///< base/state_archive.h
  Series series;                     ///< what is weighed: from its first failure on
  bool black = false;                ///< the journal has heard that it is one
  bool booted = false;               ///< since it was told: what was weighed is over
  TimePoint black_at = kNoTime;
  Evidence told;  ///< as it was told then
};

struct State {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  Recent recent;
  std::map<std::string, Node> nodes;
  TimePoint kept_at = kNoTime;  ///< of the last jobs_kept: no event of jobs before it matters any more
};

/// Total.  `view` has taken in the event before.  Gives the nodes about which decide() must be asked again.
std::vector<std::string> apply(State& state, const cluster::View& view, const Event& event);

struct Decision {
  std::vector<Event> records;  ///< black_hole, black_hole_suspected, black_hole_over
};
/// Pure.  Costs at most kMostCompared outcomes (recent.h), however many jobs the cluster has.
Decision decide(const State& state, const std::string& node);

/// The age from which on running jobs should be told of before they end: some node may be one, and that the
/// same kinds live elsewhere would acquit or convict it.  Nothing: nobody needs it.
std::optional<std::chrono::seconds> wants_lives(const State& state, TimePoint now);
/// Whether a node eats jobs just now, by all that is known: of several users, one after the other, the last
/// one a moment ago.  Then each second until the next look costs a job.
bool is_eating(const State& state, TimePoint now);

/// The finding in one sentence: "9 jobs of 4 users failed within 12 s of their start on n3 since 10:02:11;
/// of the same kinds 37 jobs passed on other nodes, 12 of them in that time".
std::string sentence(const std::string& node, const Evidence& evidence);

/// The same of a node that is under suspicion only, with what is wanting: "...; no other job has begun on
/// other nodes since, so nobody knows whether it is this node alone".
std::string suspicion(const std::string& node, const Evidence& evidence);

/// A black hole, for people: what `black_hole` said of it and when (`at`); null for another node.
Json node_view(const State& state, const std::string& node);

/// A node under suspicion, for people: {sentence, at}, by what is known now; null for another node, a black
/// hole among them.
Json suspicion_view(const State& state, const std::string& node);

/// The body of `jobs_kept`, {kinds, all, nodes}: with it in the journal the events of jobs before it can go,
/// for apply() puts it in the place of the whole state.  What is not fresh is left out, there and so here.
Json summary(const State& state, TimePoint now);

/// Everything that a replay must bring back, as text.
std::string canonical_text(const State& state);

}  // namespace sickbay::blackhole
