// SPDX-License-Identifier: Apache-2.0
// Import of an NHC configuration: the checks that a built-in operation equals become a specification; a check
// that has no equal, or is more shell than check, becomes a stub that runs the site's own script under the
// limits of an operation.  Not taken are lines that ask Moab, TORQUE or PBS, and targets that cannot be told.
// What was taken in part says what it leaves out.
//
// A check that fails takes the node out, as NHC does; -0 (not fatal), `log`, `syslog` and MARK_OFFLINE=0 tell
// the operator instead. -r, -S and -c become a repair with a budget, and take the node out only when that did
// not help. Settings hold for the lines behind them, as in NHC: TIMEOUT, MARK_OFFLINE, limits and users of
// the checks, and what is exported to commands.
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
  enum class How : std::uint8_t { whole, in_part, stub, setting, elsewhere, no } how = How::no;
  std::string note;  ///< what is left out, why it is a stub, or why nothing was taken
};
std::string_view to_string(NhcTaken::How how);

struct NhcImport {
  std::vector<NhcTaken> lines;           ///< in their order
  std::vector<SpecificationFile> files;  ///< "nhc.json", then one for each further target: "nhc_2.json" ...
};

/// `cluster`: the cluster's nodes, for targets that are patterns.  Errors: bad_input with FILE:LINE.
Result<NhcImport> import_nhc(std::string_view text, std::string_view source,
                             std::vector<std::string> cluster);

/// For the one node that has these names (Slurm's, the kernel's): lines whose target fits none of them are
/// `elsewhere`, and the only file, "nhc.json", is for whoever reads it.  Errors: as import_nhc.
Result<NhcImport> import_nhc_here(std::string_view text, std::string_view source,
                                  std::vector<std::string> names);

/// "31 of 35 lines taken: 24 whole, 3 in part, 2 as stubs, 2 settings"
std::string summary_of(const std::vector<NhcTaken>& lines);
Json to_json(const NhcTaken& taken);

}  // namespace sickbay::diagnose
