// SPDX-License-Identifier: Apache-2.0
// A case for a job that has failed without one: its script is fetched from Slurm, and the experiment begins.
//
// The failed job itself becomes run 1; nothing of it is run here.  Slurm keeps the script while it knows the
// job (MinJobAge) and gives it to its owner; of the command line and the environment of the submission it
// keeps little, so what could not be had is said in the case.  How the program may run again is the site's
// word, as for any case.  Source: doc/design/identify.md, "Every job".
#pragma once
#include <string>

#include "base/result.h"
#include "client/api_client.h"
#include "model/ids.h"

namespace sickbay::cli {

/// Opens a case for `job`, the caller's own, and binds it.  Gives the name of the case.
/// Errors: not_found (Slurm has no script of that job: it has forgotten the job, or srun or salloc began it),
/// conflict (a task of a job array, a part of a heterogeneous job), those of the API.
Result<std::string> begin_experiment(ApiClient& api, JobId job);

/// The options with which sbatch would ask for what `shown`, a line of `scontrol -o show job`, says that the
/// job had.  Errors: conflict, as above.
Result<std::vector<std::string>> options_of_shown_job(std::string_view shown);
/// The value of `key` in such a line, up to the next key; "" where it is not there or "(null)".
std::string shown_value(std::string_view shown, std::string_view key);

}  // namespace sickbay::cli
