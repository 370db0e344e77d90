// SPDX-License-Identifier: Apache-2.0
// Where the store is when nobody says.
#pragma once
#include <string>

#include "base/result.h"

namespace sickbay::workload {

/// `given` where it is not empty, else $SICKBAY_STORE, else $HOME/.local/share/sickbay/jobs.duckdb.
/// Errors: usage (there is no HOME).
Result<std::string> store_path(const std::string& given = {});

/// The same for who may have to make it: the folders above the default path are made, for the owner alone.
/// Errors: usage, denied, storage_full, storage_broken.
Result<std::string> store_path_to_make(const std::string& given = {});

}  // namespace sickbay::workload
