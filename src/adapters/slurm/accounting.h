// SPDX-License-Identifier: Apache-2.0
// Jobs as accounting knows them: sacct's command line, and what it prints.
//
// Names and submit lines are the users' own text and may hold any character, a line break or a delimiter
// too.  So the delimiter is a random word, new for each call, and records are counted by it and not by
// lines: nobody can write a job into another's history.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ports/process_runner.h"
#include "ports/resource_manager.h"

namespace sickbay::slurm {

/// Whose jobs: those of `jobs`, or all of `uid` that were submitted in the last `days`.
struct AccountingQuestion {
  std::vector<JobId> jobs;
  std::uint32_t uid = 0;
  int days = 14;
};

struct AccountingJob {
  JobInfo job;
  std::string submit_line;  ///< the command that submitted it; holds our key (comments are not kept)
};

/// A delimiter nobody can guess.
std::string random_delimiter();
/// sacct as root, on the whole cluster, times as Unix seconds in UTC.
ProcessSpec sacct_command(const AccountingQuestion& question, const std::string& sacct,
                          const std::string& slurm_conf, const std::string& delimiter);
/// The jobs in sacct's output.  Errors: bad_input with the field.
Result<std::vector<AccountingJob>> parse_sacct(std::string_view out, std::string_view delimiter);
/// What a failed sacct means.
Error sacct_error(const ProcessOutcome& outcome);

}  // namespace sickbay::slurm
