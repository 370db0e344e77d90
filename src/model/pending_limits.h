// SPDX-License-Identifier: Apache-2.0
// The reasons that are limits of accounts and QOS; for pending_reason.cc only.
#pragma once
#include <vector>

#include "model/pending_reason.h"

namespace sickbay {

/// One PendingReason per limit of slurm.h, in its order.
std::vector<PendingReason> pending_limits();

}  // namespace sickbay
