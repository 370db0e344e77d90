// SPDX-License-Identifier: Apache-2.0
// Files that must outlast a power cut, and bounded reading.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace sickbay {

/// Writes `bytes` to `path` so that after any crash it holds either all of them or what it held before:
/// a new file in the same folder, synced, renamed, and the folder synced.
/// Errors: storage_full, storage_broken, denied, not_found (no such folder).
Status write_durably(const std::string& path, std::string_view bytes, unsigned mode);

/// The whole file.  Errors: not_found, denied, bad_input (longer than `limit` bytes), storage_broken.
Result<std::string> read_file(const std::string& path, std::size_t limit);

/// The last `bytes` of the file, or all of it where it is shorter: for the end of a job's output.
/// Errors: not_found, denied, storage_broken.
Result<std::string> read_tail(const std::string& path, std::size_t bytes);

/// Makes the folder and those above it, each durable; one that exists keeps its mode.  Errors: as
/// write_durably.
Status make_folder(const std::string& path, unsigned mode);

/// A file in memory alone that holds `bytes`, at its start, to be the input of a program: unlike a pipe it
/// lets one that reads late, or never, hold nobody up.  None, and errno, where it cannot be made.
Descriptor memory_file(std::string_view bytes);

/// The Error for `errno_value` of a file operation: "cannot DOING PATH: ...".
Error file_error(int errno_value, std::string_view doing, const std::string& path);

}  // namespace sickbay
