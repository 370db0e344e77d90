// SPDX-License-Identifier: Apache-2.0
// Names of cases and runs: "c17", "c17.r2" (P's second run), "c17.v1" (a verification), "c17.k2" (the user's
// own check of what c17.r2 left); of findings: "f9"; of nodes where they are subjects: "node:n3".
//
// Numbers come from the journal and are never used again.  Source: doc/design/decisions.md 9.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/task_ids.h"

namespace sickbay {

using JobId = std::uint32_t;  ///< Slurm's job id; 0 = none

enum class RunKind : std::uint8_t { program, verification, check };

struct RunId {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  std::int64_t case_no = 0;
  RunKind kind = RunKind::program;
  int n = 1;  ///< from 1

  std::string text() const;  ///< "c17.r2", "c17.v1", "c17.k2"
  friend auto operator<=>(const RunId&, const RunId&) = default;
};

std::string case_name(std::int64_t case_no);             ///< "c17"
Result<std::int64_t> parse_case_name(std::string_view);  ///< Errors: bad_input
Result<RunId> parse_run_id(std::string_view);            ///< Errors: bad_input

std::string finding_name(std::int64_t finding_no);          ///< "f9"
Result<std::int64_t> parse_finding_name(std::string_view);  ///< Errors: bad_input

/// "4711"; no sign, and no 0 in front.  Errors: bad_input, with "is not a job id".
Result<JobId> parse_job_id(std::string_view);

/// "p3": a round of verification of idle nodes (engine/patrol), and "p3.v1", its first run of V.
struct PatrolRunId {
  static constexpr int kFields = 2;  ///< base/state_archive.h
  std::int64_t round = 0;
  int n = 1;  ///< from 1

  std::string text() const;
  friend auto operator<=>(const PatrolRunId&, const PatrolRunId&) = default;
};
std::string patrol_name(std::int64_t round);               ///< "p3"
Result<std::int64_t> parse_patrol_name(std::string_view);  ///< Errors: bad_input
Result<PatrolRunId> parse_patrol_run(std::string_view);    ///< Errors: bad_input

std::string recovery_name(std::int64_t recovery);            ///< "r3": engine/recover
Result<std::int64_t> parse_recovery_name(std::string_view);  ///< Errors: bad_input

/// What sacct and squeue call a task of a job array: "1234_7".
struct TaskName {
  static constexpr int kFields = 2;  ///< base/state_archive.h
  JobId array_job_id = 0;
  TaskId task = 0;

  std::string text() const;  ///< "1234_7"
  friend auto operator<=>(const TaskName&, const TaskName&) = default;
};
Result<TaskName> parse_task_name(std::string_view);  ///< Errors: bad_input

std::string job_subject(JobId job);  ///< "job:17"
bool is_job_subject(std::string_view subject);
std::optional<JobId> parse_job_subject(std::string_view);      ///< nothing where it is none
std::string running_subject(JobId job);                        ///< "j17": a running job that may lose nodes
std::optional<JobId> parse_running_subject(std::string_view);  ///< nothing where it is none
std::string node_subject(std::string_view node);               ///< "node:n3"
std::string_view node_of_subject(std::string_view subject);    ///< "n3"; "" where it is no node's

}  // namespace sickbay
