// SPDX-License-Identifier: Apache-2.0
// On which of the suspects shall the program run next?
//
// The run that is expected to leave the least open: for each of a few dozen sets the posterior is reckoned as
// it would be after a failure and after a success, and their entropies are weighed by how likely each is.
// While all suspects are alike the best set is half of them in and half out.  Source: doc/design/identify.md,
// "Further identification".
#pragma once
#include <vector>

#include "engine/further/posterior.h"

namespace sickbay::further {

/// What a run can be on.
struct Room {
  int size = 1;     ///< nodes that the program runs on
  int outside = 0;  ///< nodes that are none of the suspects and may be had
};

struct NextRun {
  std::vector<int> in;  ///< suspects that it includes, ascending; the others it keeps away from
  double fails = 0;     ///< how likely it is to fail, by all that is known
  double gain = 0;      ///< nats that it is expected to settle
  Posterior if_failed, if_ok;
};

/// The set for the next run.  It has between size - outside and size suspects in; where there are not even
/// so many nodes, all suspects.  The same record gives the same set.  Some 40 posteriors.
NextRun next_nodes(const Record& record, const Prior& prior, const Room& room);
/// The same of a set that is given.
NextRun next_on(const Record& record, const Prior& prior, std::vector<int> in);

}  // namespace sickbay::further
