// SPDX-License-Identifier: Apache-2.0
// A lab of another Slurm than this machine's (`up --slurm 26.05`).
//
// tools/slurm-release makes the folder of a release: root/, a Debian that has it, and build/, Sickbay built
// there. A command about such a lab goes on as the program of that build, in a mount namespace of its own in
// which /usr and /etc are the root's.  Everything else is this machine's: paths, processes, networks, the
// labs' folders.
#pragma once
#include <string>

#include "base/result.h"

namespace sickbay::lab {

/// The folder that `--slurm WORD` means: WORD itself where it is a path, else build/slurm-WORD of the
/// checkout that this program was built in.  Errors: not_found, with the command that makes it; not_root.
Result<std::string> find_release(const std::string& word);
/// Goes on there, with the same arguments, and does not come back; returns at once where we are there
/// already, and for an empty folder (this machine's own Slurm).  Call before anything was begun.
Status go_to_release(const std::string& folder);

}  // namespace sickbay::lab
