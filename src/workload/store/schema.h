// SPDX-License-Identifier: Apache-2.0
// The columns of the store's table `jobs`, made from fields.h: the one order in which they are created,
// written by the import and read back.
#pragma once
#include <span>
#include <string_view>

#include "adapters/duckdb/database.h"
#include "workload/job/fields.h"

namespace sickbay::workload {

struct JobColumn {
  std::string_view name;
  bool is_text = true;
  Num num{};                ///< unless is_text
  Text text{};              ///< where is_text
  Unit unit = Unit::count;  ///< unless is_text
  duck::Type type = duck::Type::text;
};

/// Texts first (job_id begins), then numbers, both in the order of fields.h.
std::span<const JobColumn> job_columns();

}  // namespace sickbay::workload
