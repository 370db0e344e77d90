// SPDX-License-Identifier: Apache-2.0
// The three questions of `sickbay plan`: how many spares, which checkpoint interval, what a faster repair is
// worth.  Each answer has its interval of confidence and says how it was reached.
//
// Each is simulated many times; what the list of failures leaves open (rates, their drift) is drawn anew each
// time.  So the 90 % of the replications in the middle are what one year may come to, and the error of the
// mean, which more replications make small, is told beside it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "plan/simulate.h"

namespace sickbay::plan {

/// A figure of many replications.
struct Figure {
  double mean = 0;
  double low = 0, high = 0;  ///< 5 % and 95 % of the replications
  double error = 0;          ///< half of the 90 % interval of the mean
};
/// REQUIRES: not empty.
Figure figure_of(std::vector<double> values);
/// The value that a share `q` of them does not exceed, between neighbours.  REQUIRES: not empty.
double quantile(std::vector<double> values, double q);

struct Question {
  Setting setting;
  std::size_t replications = 100;
  std::uint64_t seed = 1;
};

/// How the cluster does as it is set.
struct Overview {
  Figure failures, down_h, most_down, availability, finds_spare, never_waits;
  Figure efficiency, lost_share, checkpoint_share, restart_share, waiting_share;  ///< of the jobs' time
  Figure time_to_finish_h;  ///< of a job, on average in a replication; jobs one after the other
};
Overview overview(const Model& model, const Question& question);

struct SparesAnswer {
  struct Point {
    std::size_t spares = 0;
    Figure never_waits;
  };
  double wanted = 0;              ///< probability that a job never waits for a spare
  std::size_t spares = 0;         ///< the fewest for which all replications together have it
  std::size_t low = 0, high = 0;  ///< 5 % and 95 % of the replications need at most so many
  double reached = 0;             ///< the probability with that number
  double finds_spare = 0;         ///< the share of failures that find one
  std::vector<Point> curve;       ///< from none to beyond what is needed
};
/// REQUIRES: 0 < wanted < 1.
SparesAnswer how_many_spares(const Model& model, const Question& question, double wanted);

struct IntervalAnswer {
  struct Point {
    double interval_h = 0;
    Figure efficiency;
    bool as_good = false;  ///< not told apart from the best, replication by replication
  };
  double mtbf_h = 0;  ///< of the job: between failures that hit it
  double young_h = 0, daly_h = 0;
  double best_h = 0;                ///< of those that were tried
  double low_h = 0, high_h = 0;     ///< the span of those as good
  double by_daly = 0, by_best = 0;  ///< efficiency
  std::vector<Point> curve;
};
/// REQUIRES: a checkpoint costs something.
IntervalAnswer which_interval(const Model& model, const Question& question);

struct RepairAnswer {
  double factor = 2;         ///< repairs that are so many times as fast
  Figure gained_h;           ///< node-hours a year, together
  Figure down_h, waiting_h;  ///< of nodes out of service, of jobs that wait; the two parts of it
  double mean_before_h = 0, mean_after_h = 0;  ///< of a repair
};
/// REQUIRES: factor over 0.
RepairAnswer worth_of_repair(const Model& model, const Question& question, double factor);

}  // namespace sickbay::plan
