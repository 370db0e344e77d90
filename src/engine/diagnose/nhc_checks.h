// SPDX-License-Identifier: Apache-2.0
// The checks of NHC, one row each: what built-in operation looks, and what then is a fault.  For
// import_nhc.cc.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/diagnose/nhc_words.h"

namespace sickbay::diagnose {

/// One look at a component, and what is wrong there.
struct NhcLook {
  std::string builtin;  ///< without "builtin:"
  Json arguments = Json::object();
  std::string component = {}, component_description = {};
  int seconds = 0;    ///< its time limit; 0: an operation's own
  bool acts = false;  ///< it changes the node: a repair, not a look
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
  bool never_fails = false;    ///< it has no rule, since nothing that it finds counts
  bool other_manager = false;  ///< it asks Moab, TORQUE or PBS: nobody here can
};

/// What nhc.conf has set when it comes to a check.
struct NhcSettings {
  NhcVariables variables;
  std::string environment;  ///< NAME=VALUE lines of what it exports

  std::string get(std::string_view name, std::string_view otherwise) const {
    const auto set = variables.find(name);
    return set == variables.end() ? std::string(otherwise) : set->second;
  }
};

/// `words`: the check and its arguments; not empty.
NhcTranslation translate_nhc_check(const std::vector<std::string>& words, const NhcSettings& settings);
/// The check as a stub: the site's own script decides.
NhcTranslation nhc_stub(std::string_view check, const std::string& shell_settings,
                        const NhcSettings& settings, std::string why);

}  // namespace sickbay::diagnose
