// SPDX-License-Identifier: Apache-2.0
// A log that sacct is asked for.  Processes are no matter of this folder: whoever imports brings the asking.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "workload/import/import.h"

namespace sickbay::workload {

/// What sacct said, in a file that is there as long as this value.
struct AskedLog {
  std::string path;
  ReadOptions read;  ///< how it is written
  std::shared_ptr<const void> keeps;
};

/// Asks for the jobs that were there in [from, to), UTC seconds; without `to`, until now.
/// Errors: missing_program, refused_by_slurm, storage_full, os.
using AskSacct = std::function<Result<AskedLog>(std::int64_t from, std::optional<std::int64_t> to)>;

/// `order`, with the asked log in place of its inputs.
ImportOrder order_of(const AskedLog& log, ImportOrder order);

}  // namespace sickbay::workload
