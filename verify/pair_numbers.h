// SPDX-License-Identifier: Apache-2.0
// What was counted on one pair of nodes, and V's own word on it.
//
// The word is by a fixed bound, for a rank knows only its own pairs.  The reader of all lines, who knows what
// the other links lost in the same seconds, has the last one (src/model/verify_noise.h).
#pragma once
#include <string>

#include "options.h"
#include "report.h"
#include "tcp_counters.h"

namespace sickbay::verify {

/// What one end of a pair saw; both ends exchange it, so that both report alike.  Plain bytes on the wire.
struct PairNumbers {
  double trips = 0, stalls = 0, best_us = 0, mean_us = 0, mb_s = 0;
  double sent = 0, sent_again = 0, needless = 0;  ///< TCP segments during the round trips
  double own_connections = 0;                     ///< 0: `sent` and `sent_again` are all of the node's
  double block_sent = 0, block_sent_again = 0;    ///< and during the blocks
  double wrong_blocks = 0, first_wrong = 0;
  double waited = 0;        ///< share of the time it wanted to run in which others had the processor
  double from = 0, to = 0;  ///< of the round trips, seconds since 1970 of this node's clock
};

/// The segments of the round trips that did not arrive, of both ends.
///
/// Of own connections: those sent again that the other end did not have already.  Of a whole node's counters:
/// no more than round trips stalled, since a lost segment of a round trip costs it TCP's least wait of 0.2 s,
/// and what else the node sends again costs it nothing.
double lost_segments(const PairNumbers& a, const PairNumbers& b);

/// The line of a pair that answered to the end; `clock` is the end that kept the time.
Finding judge_pair(const PairNumbers& clock, const PairNumbers& other, const Options& options,
                   const std::string& peer);

}  // namespace sickbay::verify
