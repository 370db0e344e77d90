// SPDX-License-Identifier: Apache-2.0
// What a machine's own noise explains of V's figures.
//
// On a busy machine packets are dropped and processors are waited for with nothing broken, and a fixed bound
// is then either too strict or too lax.  What noise does to one link or rank it does in the same seconds to
// others, so those are the measure: lost segments of a link against the links that share no end with it (what
// shares an end shares its fault), speed of a node against the nodes of the same kind.  Pure. Source:
// doc/design/identify.md, "V on a busy machine".
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/robust.h"

namespace sickbay {

/// What V counted on one link, both ends together.
struct LinkFigures {
  std::size_t low = 0, high = 0;  ///< its ends
  double segments = 0;            ///< TCP segments of the round trips
  double lost = 0;                ///< of them sent again because they, or the word of them, did not arrive
  double from = 0, to = 0;        ///< when, in seconds of the leading end's clock; both 0: not known
  bool busy = false;              ///< an end waited for processors behind others meanwhile
};

/// Whether what was lost on `link` is no more than others lost too.
///
/// The others are the links of `all` that share no end with it and were measured in the same seconds, or at
/// any time where those are too few.  The worst third of them is left aside, for it may be faulty as well.
/// True only where an end was busy and the others lost something, and Fisher's exact test, with counts
/// divided by how much more than chance the others scatter among themselves, gives more than 1 in 100: on a
/// quiet machine many lossy links are many faults, or one switch.  O(n log n) of all links.
bool noise_explains(const LinkFigures& link, std::span<const LinkFigures> all);

/// A phase whose speed is compared among nodes of one kind; more is better.
struct SpeedRow {
  std::string_view phase, unit;
  double
      floor;  ///< what equal machines differ by anyhow, and one machine on different days: share of a median
};
/// (Not the disk: what a sync costs in one second says little of the next.  One that stands still is told
/// apart: verify_links.cc.)
inline constexpr auto kSpeeds = std::to_array<SpeedRow>({{"cpu", "Mpairs/s", 0.20}, {"membw", "MB/s", 0.30}});
/// The least that is still usual: less than the median by `floor` of it, or by six deviations where that is
/// more.
double least_usual(const Spread& usual, double floor);

/// A figure of one node of the run; more is better.
struct NodeFigure {
  std::string kind;  ///< what machine it is; only equal kinds are compared, "" with none
  double value = 0;
  bool busy = false;  ///< it waited for processors behind others: neither judged nor a measure
};

struct OddFigure {
  std::size_t at = 0;  ///< index of the figure
  double usual = 0;    ///< median of its kind
  double least = 0;    ///< what would still have been usual
  std::size_t others = 0;
};

/// The figures that are below what is usual for their kind (least_usual).  A kind of fewer than five that
/// were not busy names nobody, and so does one of which more than a quarter would be named: then it is two
/// kinds.  O(n log n).
std::vector<OddFigure> below_their_kind(std::span<const NodeFigure> figures, double floor);

}  // namespace sickbay
