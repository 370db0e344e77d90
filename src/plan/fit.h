// SPDX-License-Identifier: Apache-2.0
// A model of how the nodes of a system fail and are repaired, fitted to a list of failures.
//
// Four parts, each chosen by Akaike's criterion among what it could be, and each saying why:
// - time between failures of a node: exponential or Weibull, all nodes alike or of gamma-distributed rates;
//   by maximum likelihood, with what the list cuts off counted as survived;
// - bursts: failures of several nodes within minutes, more than chance makes, are events of their own;
// - repair times: exponential or lognormal by likelihood; where neither fits, as they were;
// - how the rate and the repair times changed over the list (local_level.h).
// All is in hours from the begin of the list.  Source: doc/design/plan.md.
#pragma once
#include <string>
#include <vector>

#include "plan/failure_list.h"
#include "plan/local_level.h"

namespace sickbay::plan {

/// What was tried, with its criterion; the least is the best.
struct Choice {
  std::string name;
  double aic = 0;
  bool chosen = false;
};

/// Between the failures that hit one node alone.
struct UpTimes {
  double mean_h = 0;  ///< node-hours in service per failure
  double shape = 1;   ///< Weibull's; 1 is exponential, less: nodes that just failed fail again sooner
  double spread = 0;  ///< shape of the gamma that the nodes' rates are drawn from; 0: all alike
  std::vector<Choice> tried;
};

enum class RepairLaw : std::uint8_t { exponential, lognormal, empirical };

struct RepairTimes {
  RepairLaw law = RepairLaw::exponential;
  double mean_h = 0;             ///< of the law
  double mu = 0, sigma = 0;      ///< lognormal: of ln hours
  std::vector<double> sample_h;  ///< empirical: those of the list
  std::vector<Choice> tried;
  LocalLevel level;  ///< of ln(hours), about the list's mean
};

struct Bursts {
  double per_h = 0;
  std::vector<std::vector<double>> repairs_h;  ///< one for each burst of the list: its nodes' repair times
  double pairs_seen = 0, pairs_by_chance = 0;  ///< failures within kBurstGap of the one before
};
inline constexpr double kBurstGapH = 10.0 / 60;

struct Model {
  std::size_t nodes = 0;
  double span_h = 0;
  std::size_t failures = 0, alone = 0;  ///< all, and those outside bursts
  double down_h = 0;                    ///< node-hours out of service within the span
  std::size_t most_down = 0;            ///< at one time
  UpTimes up;
  RepairTimes repair;
  Bursts bursts;
  LocalLevel rate;  ///< of ln(rate), about the list's mean

  /// Failures of a node in an hour of service, of all kinds, at the level of the list's end.
  double failures_per_node_hour() const;
};

/// The failures of `system` that start in [from, until); nothing after `until` is looked at.  `nodes`: how
/// many there are, 0 for those that are named.  Errors: bad_input (fewer than kLeastFailures, fewer nodes
/// than are named, no span).
Result<Model> fit_model(const System& system, std::size_t nodes, TimePoint from, TimePoint until);
inline constexpr std::size_t kLeastFailures = 8;

/// What was chosen and why, a sentence each.
std::vector<std::string> describe(const Model& model);

}  // namespace sickbay::plan
