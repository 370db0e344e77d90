// SPDX-License-Identifier: Apache-2.0
// What the output of V says, as it is taken in: the same way in a case and outside of one.
#pragma once
#include "base/json.h"
#include "engine/cluster/view.h"
#include "model/verify_speeds.h"

namespace sickbay::cluster {

/// The results of a `read_output` of V ({node, peer, result, fault, reason, kind, figures}, ...) with what is
/// known besides: V that ended by somebody's hand is no word on its node, and a node that V found well is
/// slow all the same where the others, or its own past, say so.  `speeds` then has the figures.
Json hear_results(const View& view, Speeds& speeds, const Json& results);

}  // namespace sickbay::cluster
