// SPDX-License-Identifier: Apache-2.0
// sickbay labels like: what jobs without a label are by likeness (workload/report/likeness.h).
#pragma once
#include "apps/cli/commands.h"

namespace sickbay::cli {

/// Adds `like` to the command `labels`.
void add_labels_like_command(CLI::App& labels, Ending& ending);

}  // namespace sickbay::cli
