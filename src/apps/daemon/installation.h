// SPDX-License-Identifier: Apache-2.0
// Where the parts of this installation are: in a build folder beside each other, else as `make install` puts
// them.
#pragma once
#include <string>

#include "service/config.h"
#include "service/effects.h"

namespace sickbay {

/// The file `name` beside the running program, or under ../libexec/sickbay or ../share/sickbay; "" when
/// nowhere.
std::string installed_file(const std::string& name);

/// The batch script and job environment of verifications.  Errors: not_found, bad_input (no "#!").
Result<Effects::Verification> verification_for(const Config& config);

}  // namespace sickbay
