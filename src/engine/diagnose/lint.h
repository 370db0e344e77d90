// SPDX-License-Identifier: Apache-2.0
// Lint: what is allowed in a specification and hardly meant.
//
// An error will never work as written (a production that cannot fire, an operation that does not exist); a
// warning may be meant.  What is not allowed at all is refused by the reader, before.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/diagnose/rules.h"

namespace sickbay::diagnose {

struct LintFinding {
  std::string_view code;  ///< of lint_rules()
  bool error = false;
  Place place;
  std::string text;
};
struct LintRule {
  std::string_view code;
  bool error;
  std::string_view meaning;
};
/// What is looked for, in the order of the findings' kinds.
const std::vector<LintRule>& lint_rules();

/// Sorted by place.  `Rules` are the whole after all overlays; `restartable` the components that the node can
/// restart (components.d), empty where that is not known or it has none.
std::vector<LintFinding> lint(const Rules& rules, std::span<const std::string> restartable = {});
Json to_json(const LintFinding& finding);

}  // namespace sickbay::diagnose
