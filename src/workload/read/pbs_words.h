// SPDX-License-Identifier: Apache-2.0
// The words of a PBS record: its values, where a job ran, and how it ended in Slurm's words.
#pragma once
#include <cstdint>
#include <string_view>

#include "workload/job/arena.h"
#include "workload/job/row.h"

namespace sickbay::workload {

enum class PbsDialect : std::uint8_t { pro, torque };

/// What several values of a record tell together.
struct PbsFacts {
  std::string_view exec_host, exec_vnode;
  std::string_view asked;  ///< Resource_List.nodes or .select
  std::int64_t walltime = -1, used_cpus = 0, slots = 0, exit_status = 0;
  bool has_exit = false;
};

/// Takes the next "key=value" off `rest`; false at its end.  A value in double quotes goes to its quote; one
/// without goes on over blanks until the next word that begins like a key ("jobname=my job queue=batch").
bool take_pbs_value(std::string_view& rest, std::string_view& key, std::string_view& value);

/// Exit_status to state, exit_code, exit_signal and reason.
void set_pbs_end(PbsDialect dialect, const PbsFacts& facts, Row& row);

/// Nodes, cores and GPUs, asked for and given.
void set_pbs_places(const PbsFacts& facts, Arena& arena, Row& row);

}  // namespace sickbay::workload
