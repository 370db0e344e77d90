// SPDX-License-Identifier: Apache-2.0
// What a verification runs, from the configuration and this installation.
#pragma once
#include <string>

#include "service/config.h"
#include "service/effects.h"

namespace sickbay {

/// The batch script and job environment of verifications.  Errors: not_found, bad_input (no "#!").
Result<Effects::Verification> verification_for(const Config& config);

}  // namespace sickbay
