// SPDX-License-Identifier: Apache-2.0
// DuckDB's messages as Errors.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay::duck {

/// The Error of a statement.  `message` is "KIND Error: what", perhaps with "LINE 1: ..." and a caret below.
Error statement_error(std::string_view message);

/// The Error of opening `path`.
Error open_error(std::string_view message, const std::string& path);

}  // namespace sickbay::duck
