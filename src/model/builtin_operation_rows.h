// SPDX-License-Identifier: Apache-2.0
// The parts of the table of builtin_operations.h, one file each.  For builtin_operations.cc alone.
#pragma once
#include <vector>

#include "model/builtin_operations.h"

namespace sickbay {

std::vector<BuiltinOperation> builtin_hardware_rows();  ///< builtin_hardware.cc: collect, hardware
std::vector<BuiltinOperation>
builtin_system_rows();  ///< builtin_system.cc: collect, file systems, network, clock
std::vector<BuiltinOperation>
builtin_process_rows();  ///< builtin_processes.cc: collect, services, processes, jobs
std::vector<BuiltinOperation> builtin_site_rows();  ///< builtin_site.cc: collect, as a site's own checks ask
std::vector<BuiltinOperation>
builtin_act_rows();  ///< builtin_acts.cc: test, localise, repair, verify, critical

}  // namespace sickbay
