// SPDX-License-Identifier: Apache-2.0
// sickbayd on another host: where it is, and how it is asked, over TCP with MUNGE.
//
// The place comes from --controller; else, where this host has no socket of sickbayd, from
// SICKBAY_CONTROLLER, from client.controller or standby.controllers of the configuration, or from Slurm;
// several are tried in their order, and one that is the standby is passed over.  Only answers that root has
// signed are believed.  Source: doc/design/decisions.md 4, doc/formats/api.md.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "client/api_client.h"

namespace sickbay::cli {

/// What --controller says, for the whole run of the program.
void name_controller(std::string place);
/// True once name_controller() was called.
bool controller_is_named();

/// The same for each call.  Errors: bad_input (a place or a configuration that does not parse), not_found
/// (nothing names a controller; the cause says what was asked).
Result<std::shared_ptr<RemoteSickbayd>> remote_sickbayd();

}  // namespace sickbay::cli
