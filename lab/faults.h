// SPDX-License-Identifier: Apache-2.0
// Faults of a lab's machines: what can be broken, and how it is healed.
#pragma once
#include <string>
#include <vector>

#include "lab/layout.h"

namespace sickbay::lab {

/// A fault that has been injected and not healed.
struct ActiveFault {
  std::string id, node, kind, value;
  std::string line() const { return id + " " + node + " " + kind + (value.empty() ? "" : "=" + value); }
};
std::vector<ActiveFault> active_faults(const Layout& layout);

}  // namespace sickbay::lab
