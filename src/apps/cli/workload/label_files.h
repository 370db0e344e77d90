// SPDX-License-Identifier: Apache-2.0
// The lists of labels that hold here: the shipped ones, the site's, and those named on the command line, each
// over the ones before.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/label/label.h"

namespace sickbay::cli {

/// The shipped lists, /etc/sickbay/labels.d/*.json, then `named` (a folder stands for its *.json).
/// Errors: not_found, denied.
Result<std::vector<workload::LabelFile>> label_files(const std::vector<std::string>& named);

}  // namespace sickbay::cli
