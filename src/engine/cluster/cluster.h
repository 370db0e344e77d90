// SPDX-License-Identifier: Apache-2.0
// Cluster: what all engines share.
//
// The view of nodes and jobs, who may act on what, and how many nodes may leave.  It is state like an
// engine's: apply() takes in each event before the engines do, so that all of them decide over the same
// picture, and nothing else changes it.  The only room of engine/ that the others may include.
#pragma once
#include <string>

#include "engine/cluster/breaker.h"
#include "engine/cluster/claims.h"
#include "engine/cluster/view.h"

namespace sickbay::cluster {

struct Cluster {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  View view;
  Claims claims;
  Breaker breaker;
};

/// Total: unknown kinds change nothing.
void apply(Cluster& cluster, const Event& event);
/// Everything that a replay must bring back, as text.
std::string canonical_text(const Cluster& cluster);

}  // namespace sickbay::cluster
