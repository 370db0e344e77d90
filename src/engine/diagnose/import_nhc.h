// SPDX-License-Identifier: Apache-2.0
// Import of an NHC configuration: the checks that a built-in operation equals become a specification, the
// rest is listed with the reason.  What was taken in part says what it leaves out.
//
// A check that fails takes the node out, as NHC does; -0 (not fatal) and `log`, `syslog` tell the operator
// instead. -r, -S and -c become a repair with a budget, and take the node out only when that did not help.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/diagnose/specification.h"

namespace sickbay::diagnose {

struct NhcTaken {
  int line = 0;
  std::string target, check;
  enum class How : std::uint8_t { whole, in_part, no } how = How::no;
  std::string note;  ///< what is left out, or why nothing was taken
};
std::string_view to_string(NhcTaken::How how);

struct NhcImport {
  std::vector<NhcTaken> lines;           ///< in their order
  std::vector<SpecificationFile> files;  ///< "nhc.json", then one for each further target: "nhc_2.json" ...
};

/// `cluster`: the cluster's nodes, for targets that are patterns.  Errors: bad_input with FILE:LINE.
Result<NhcImport> import_nhc(std::string_view text, std::string_view source,
                             std::vector<std::string> cluster);

Json to_json(const NhcTaken& taken);

}  // namespace sickbay::diagnose
