// SPDX-License-Identifier: Apache-2.0
// Counts of a pair to its line.
#include "pair_numbers.h"

#include <fmt/format.h>

#include <algorithm>

namespace sickbay::verify {
namespace {

constexpr double kLeastLost = 3;  ///< fewer lost segments prove nothing

}  // namespace

double lost_segments(const PairNumbers& a, const PairNumbers& b) {
  const double again = a.sent_again + b.sent_again;
  if (a.own_connections > 0 && b.own_connections > 0)
    return std::max(0.0, again - std::min(a.needless, a.sent_again) - std::min(b.needless, b.sent_again));
  return std::min(again, a.stalls + b.stalls);  // (only one end counts stalls)
}

Finding judge_pair(const PairNumbers& clock, const PairNumbers& other, const Options& options,
                   const std::string& peer) {
  // Only the round trips count: one of their segments is one packet.  Blocks travel as bundles of up to 45
  // segments, and a busy receiver drops one now and then with nothing broken (measured: 45 and 90 of 11900
  // segments on healthy links of a machine with load 13, and none in the round trips).
  const double sent = clock.sent + other.sent, again = clock.sent_again + other.sent_again;
  const double lost = lost_segments(clock, other);
  const double block_sent = clock.block_sent + other.block_sent;
  const double block_again = clock.block_sent_again + other.block_sent_again;
  Finding found{.phase = "net", .value = clock.mb_s, .unit = "MB/s", .peer = peer};
  found.busy = std::max(clock.waited, other.waited) > options.busy_share;
  found.also = {{"latency_us", clock.best_us},
                {"mean_latency_us", clock.mean_us},
                {"trips", clock.trips},
                {"stalls", clock.stalls},
                {"segments", sent},
                {"sent_again", again},
                {"lost", lost},
                {"block_segments", block_sent},
                {"block_sent_again", block_again},
                {"waited_share", std::max(clock.waited, other.waited)},
                {"from", clock.from},
                {"to", clock.to}};
  const double wrong = clock.wrong_blocks + other.wrong_blocks;
  if (wrong > 0) {
    found.ok = false;
    found.detail = fmt::format("{:.0f} messages arrived with other contents than were sent", wrong);
  } else if (lost >= kLeastLost && lost >= options.loss_ratio * sent) {
    found.slow = found.lossy = true;
    found.detail = fmt::format(
        "{:.0f} of {:.0f} TCP segments were lost in round trips ({:.0f} sent again), {:.0f} of {:.0f} sent "
        "again "
        "in blocks; {:.0f} of {:.0f} round trips took over 0.1 s",
        lost, sent, again, block_again, block_sent, clock.stalls, clock.trips);
  }
  return found;
}

}  // namespace sickbay::verify
