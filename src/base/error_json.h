// SPDX-License-Identifier: Apache-2.0
// Errors as JSON, {code, what, cause, remedy}: for people and their programs, and from one of our processes
// to another.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace sickbay {

/// As `--json` and the API answer: with the remedy that the code has where the error names none.
Json error_json(const Error& error);

/// As one of our processes tells it to another, and back; unknown codes become `internal`.
Json error_to_json(const Error& error);
Error error_from_json(const Json& json);

}  // namespace sickbay
