// SPDX-License-Identifier: Apache-2.0
// The words of a Grid Engine record: what a job asked for, and how it ended in Slurm's words.
#pragma once
#include <cstdint>
#include <string_view>

#include "workload/job/row.h"

namespace sickbay::workload {

/// What several fields of a record tell together; -1: not told.
struct SgeFacts {
  std::int64_t failed = 0, exit_status = 0;
  std::int64_t slots = -1, ran = -1, max_vmem = -1;
  std::string_view category;
};

/// The value of `name` in "-U staff -l h_rt=7200,h_vmem=2G -pe mpi 16"; empty: not asked for.
std::string_view sge_request(std::string_view category, std::string_view name);

/// `failed` and `exit_status` to state, kind, exit_code, exit_signal and reason.
void set_sge_end(const SgeFacts& facts, Row& row);

/// Time limit and memory asked for.
void set_sge_requests(const SgeFacts& facts, Row& row);

}  // namespace sickbay::workload
