// SPDX-License-Identifier: Apache-2.0
// That a node is leaving, as its agent tells programs that run on it: a file of one line, the moment since
// when, in microseconds since 1970.  No file: it is not.
//
// Whoever reads it may be anybody's program, and what it makes of it is its own matter; a checkpoint, for one
// that takes some (ckpt/leaving.h).  Source: doc/design/checkpoint.md, "Before a drain".
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace sickbay {

inline constexpr const char* kLeavingFile = "/run/sickbay-agent/leaving";
inline constexpr std::size_t kMostLeavingBytes = 32;

/// "1764086400000000\n".  REQUIRES: after 1970.
std::string format_leaving(TimePoint since);
/// Only what format_leaving gives.  Errors: bad_input.
Result<TimePoint> parse_leaving(std::string_view text);

}  // namespace sickbay
