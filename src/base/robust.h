// SPDX-License-Identifier: Apache-2.0
// Statistics that a few wrong values cannot bend: median, its spread, and exact weights of counts.
// Everything that compares nodes with their like (the report of V, the fleet) measures with these.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sickbay {

/// The middle value; the mean of the two middle ones for an even count.  Nothing for no values.  O(n).
std::optional<double> median_of(std::vector<double> values);

/// What is usual and how far from it is still usual.
struct Spread {
  double median = 0;
  double deviation = 0;  ///< median absolute deviation times 1.4826: of normal values the standard deviation
};
/// Nothing for no values.  Up to half of the values may be anything.
std::optional<Spread> spread_of(std::span<const double> values);

/// Fisher's exact test, one-sided: how probable are `hits` or more of `trials` where `others_hits` of
/// `others_trials` happened elsewhere, if both have the same rate?  From 0 to 1; 1 for no hits.  More hits
/// than trials are taken as that many trials.  O(hits + others_hits).
double at_least_by_chance(std::uint64_t hits, std::uint64_t trials, std::uint64_t others_hits,
                          std::uint64_t others_trials);

/// ln B(a, b), both over 0: what a hits and b misses weigh under a rate of which nothing is known.
double ln_beta(double a, double b);

}  // namespace sickbay
