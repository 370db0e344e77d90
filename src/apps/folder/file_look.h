// SPDX-License-Identifier: Apache-2.0
// A look at a file that a run reads: what model/input_file.h keeps of it.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/input_file.h"

namespace sickbay {

/// The file as it is now, with its digest where it has at most `digest_bound` bytes.  It is opened without
/// waiting (a FIFO has no writer).  Errors: not_found, denied, bad_input (no regular file), os.
Result<InputFile> look_at_file(const std::string& path, std::uint64_t digest_bound);

}  // namespace sickbay
