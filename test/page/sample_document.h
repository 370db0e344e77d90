// SPDX-License-Identifier: Apache-2.0
// A Document with every kind of chart, every outcome, and names that would like to be HTML.
#pragma once
#include "workload/report/report.h"

namespace sickbay::workload {

/// Always the same: its figures come from a generator with a fixed seed.
Document sample_document();

}  // namespace sickbay::workload
