// SPDX-License-Identifier: Apache-2.0
// Asking sacct itself for a log, with every column that the import can read and this sacct knows.
#pragma once
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "workload/import/asked_log.h"

namespace sickbay::cli {

/// A log of the jobs that were there in [from, to), UTC seconds, in a file that goes with the value: a
/// workload::AskSacct.
/// Errors: missing_program, refused_by_slurm (with sacct's words on standard error), storage_full, os.
Result<workload::AskedLog> ask_sacct(std::int64_t from, std::optional<std::int64_t> to);

}  // namespace sickbay::cli
