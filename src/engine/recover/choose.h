// SPDX-License-Identifier: Apache-2.0
// The decider: at which cell of the path to begin.
//
// The paper's decider begins at the lowest cell and goes up.  That is right where low restarts cure; where
// they seldom do each of them is time lost.  Ours begins where the expected time until the fault is gone is
// smallest.  Of cells c1 < c2 < ... with restart times t_k and learned cure probabilities q_k
//   E_k = t_k + (1 - q_k) * E_k+1,
// E after the last one being what a person needs.
//
// q_k is learned from restarts of c_k as they were made, first or after others (rates.h).  Who begins higher
// restarts what is below as well, so one could reckon with a chance of 1 - (1 - q_1) ... (1 - q_k) for a
// first restart: `nested`.  That is right for true chances and wrong for learned ones, which hold those cures
// already: bench/bench_recover.cc shows it to be worse in both of its worlds.
//
// The level of the cluster is never chosen: that takes a person's word.
// Source: doc/design/recover.md, "The decider".
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "engine/recover/tree.h"

namespace sickbay::recover {

/// A cell of the path, lowest first.
struct Step {
  std::size_t cell = 0;  ///< of the tree
  Level level = Level::component;
  Seconds takes{0};
  double cures = 0;  ///< q_k: that its restart cures, 0 to 1
};

/// What a first restart of a higher cell can cure.
enum class Nesting : std::uint8_t {
  apart,   ///< q_k: what was learned of it holds all
  nested,  ///< besides what each lower one would have: for chances that are known and not learned
};

/// When the fault is gone, by where one begins; `person` is what comes after the last step.  As long as
/// `path`.
std::vector<Seconds> expected_times(std::span<const Step> path, Seconds person,
                                    Nesting nesting = Nesting::apart);

struct Choice {
  std::size_t start = 0;  ///< index into the path
  Seconds expected{0};
};
/// The start with the smallest expected time, the lowest of equals.  Nothing where the path has no cell that
/// a machine may restart.  Cells of the level cluster, and those above, are left out.
std::optional<Choice> choose(std::span<const Step> path, Seconds person, Nesting nesting = Nesting::apart);

/// For comparison: the paper's, always from the lowest cell...
std::optional<Choice> fixed_bottom_up(std::span<const Step> path, Seconds person,
                                      Nesting nesting = Nesting::apart);
/// ...and what people do who have no time: all at once.
std::optional<Choice> fixed_top_down(std::span<const Step> path, Seconds person,
                                     Nesting nesting = Nesting::apart);

/// The path as far as a machine may go.
std::span<const Step> below_cluster(std::span<const Step> path);

}  // namespace sickbay::recover
