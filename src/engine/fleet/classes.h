// SPDX-License-Identifier: Apache-2.0
// Classes: which nodes may be compared with which.
//
// Two steps.  Nodes of another architecture, processor or features are different machines, whatever else they
// share.  Among the rest those with equal hardware (processors, memory, GPUs; numbers within 1 %) form
// groups; a group is a class of its own when it is large, and else belongs to the largest one that it differs
// least from: one node with less memory than its 500 likes has lost a module, and 50 with less were bought
// so.
#pragma once
#include <string>
#include <vector>

#include "engine/fleet/fleet.h"

namespace sickbay::fleet {

struct Class {
  std::string name;                  ///< "Xeon 6248, 40 processors, 191000 MiB"
  std::vector<const Node*> members;  ///< in the order of `names`
  std::vector<const std::string*> names;
};

/// All nodes, each in one class.  Largest groups first; equal ones by name, so that a replay makes the same.
/// O(nodes log nodes + groups^2 of one machine).
std::vector<Class> find_classes(const State& state);

}  // namespace sickbay::fleet
