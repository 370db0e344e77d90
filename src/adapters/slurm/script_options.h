// SPDX-License-Identifier: Apache-2.0
// A batch script with some of its #SBATCH options taken out.
//
// An option on sbatch's command line wins over one in the script, but there is no value that undoes a
// --begin, --dependency, --wait or --test-only, so those must go from the text.  The lines keep their
// numbers, because error messages of the script's own interpreter name them.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/sbatch_options.h"

namespace sickbay::slurm {

/// `script` with those of its `options` (parse_script_options of it) that `keep` wants: all of them on the
/// first #SBATCH line, the other #SBATCH lines made comments.  What comes after the options is untouched.
std::string with_script_options(std::string_view script, const std::vector<GivenOption>& options,
                                const std::function<bool(const GivenOption&)>& keep);

/// A line "#BB ..." or "#DW ..." (also #BB_LUA): the job has a burst buffer.
bool has_burst_buffer_line(std::string_view script);

}  // namespace sickbay::slurm
