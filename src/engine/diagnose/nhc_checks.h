// SPDX-License-Identifier: Apache-2.0
// The checks of NHC that a built-in operation equals.  For import_nhc.cc.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/diagnose/nhc_conf.h"

namespace sickbay::diagnose {

/// One look at a component, and what is wrong there.
struct NhcLook {
  std::string builtin;  ///< without "builtin:"
  Json arguments = Json::object();
  std::string component = {}, component_description = {};
};
struct NhcRule {
  std::vector<NhcLook> looks;
  std::string fault;  ///< expression over outputs of the built-in operations, as {name}
  std::string description;
  bool tells_only = false;  ///< -0, log, syslog
  std::string repair = {};  ///< a built-in repair; empty: none
  Json repair_arguments = Json::object();
};
/// What became of a check.  Nothing in `rules`: it was not taken, and `note` says why.
struct NhcTranslation {
  std::vector<NhcRule> rules;
  std::string note;
};

/// `words`: the check and its arguments; not empty.
NhcTranslation translate_nhc_check(const std::vector<std::string>& words);

}  // namespace sickbay::diagnose
