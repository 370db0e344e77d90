// SPDX-License-Identifier: Apache-2.0
// The batch script of a submission, and all else that is needed to run it again later.
//
// The script is looked for where sbatch looks (tried on 22.05.8), and what sbatch would refuse about it is
// refused here with a remedy, before a case is opened.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/job.h"
#include "model/sbatch_options.h"

namespace sickbay::cli {

inline constexpr std::size_t kMaxScriptBytes = 16U << 20;  ///< slurmctld's own limit is 4 MiB by default

struct BatchScript {
  std::string name;  ///< as given; "stdin", or "wrap" for --wrap
  std::string text;
  bool from_stdin = false;
};

/// What keeps sbatch from taking `text`: empty, no "#!", a NUL, DOS line ends.  Errors: bad_input.
Status check_batch_script(std::string_view text, std::string_view name);

/// The path sbatch opens for the script word of `line`: with "." or "/" in front as it is, else below --chdir
/// or the current folder, else in PATH, else as it is.
std::string script_path(const SbatchLine& line, const std::string& folder, std::string_view path_variable);

/// Reads and checks the script of a command line.  Errors: not_found, denied, bad_input, os; usage (--wrap
/// together with a script).
Result<BatchScript> read_batch_script(const SbatchLine& line);

/// The submission as this process would make it: its user, environment, folder, umask and soft limits.
/// Errors: os (the current folder is gone).
Result<Submission> collect_submission(const SbatchLine& line, const BatchScript& script);

}  // namespace sickbay::cli
