// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/cluster.h"

namespace sickbay::cluster {

void apply(Cluster& cluster, const Event& event) {
  // In this order: claims end with nodes that are gone, and the breaker counts drains that are nobody's of
  // ours.
  apply(cluster.view, event);
  cluster.claims.apply(cluster.view, event);
  cluster.breaker.apply(cluster.view, cluster.claims, event);
}

std::string canonical_text(const Cluster& cluster) {
  return canonical_text(cluster.view) + canonical_text(cluster.claims) + canonical_text(cluster.breaker);
}

}  // namespace sickbay::cluster
