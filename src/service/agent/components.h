// SPDX-License-Identifier: Apache-2.0
// Components of a node: software that can be restarted by itself, as the node's own files describe it.
//
// One JSON document for each component, in components.d: how it is restarted and how one sees that it is
// well. sickbayd knows their names, what needs what, and how long a restart takes; it never says a command
// (doc/design/decisions.md 6).  Keys: doc/formats/component.md.  Source: doc/design/recover.md.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/diagnose/specification.h"

namespace sickbay::agent {

struct ComponentSpec {
  std::string name, description;
  /// Programs with their arguments, by absolute paths; exit code 0: it is well, it was restarted.
  std::vector<std::string> check, restart;
  std::vector<std::string> needs;    ///< components of this node without which it does not run
  std::chrono::seconds takes{0};     ///< what a restart takes, before any was measured; 0: not said
  std::chrono::seconds timeout{60};  ///< of the restart, and of each check
  std::chrono::seconds within{30};   ///< after a restart it must be well before so long
};

/// All components of the files, by name.  Of two files that describe the same one the later stands.
/// Errors: bad_input with file:line:column: no JSON, an unknown key, a component that needs one that is not
/// there or, in a ring, itself.
Result<std::vector<ComponentSpec>> read_components(const std::vector<diagnose::SpecificationFile>& files);

/// What sickbayd is told: [{name, needs, takes_us}].
Json components_view(const std::vector<ComponentSpec>& components);
/// The table of keys, for doc/formats/component.md.
std::string describe_component_keys();

}  // namespace sickbay::agent
