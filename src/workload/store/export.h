// SPDX-License-Identifier: Apache-2.0
// The store's jobs as Parquet files, for other programs (doc/formats/job.md, "Parquet").
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "workload/store/store.h"

namespace sickbay::workload {

struct ExportResult {
  std::uint64_t jobs = 0, files = 0, bytes = 0;
};

/// Writes `jobs` to FOLDER/year=Y/month=M/*.parquet; the folder is there whole or not at all.
/// `store` must not be sandboxed.  Errors: already_exists (the folder holds something), not_found (no jobs;
/// no folder above it), denied, storage_full.
Result<ExportResult> export_parquet(Store& store, const std::string& folder);

}  // namespace sickbay::workload
