// SPDX-License-Identifier: Apache-2.0
// What `sickbay import` tells of an import.
#pragma once
#include <string>

#include "apps/cli/page.h"
#include "base/json.h"
#include "workload/import/import.h"

namespace sickbay::cli {

std::string import_text(const workload::ImportResult& result, const TextPage& page);
Json import_json(const workload::ImportResult& result);

}  // namespace sickbay::cli
