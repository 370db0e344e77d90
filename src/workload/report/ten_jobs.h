// SPDX-License-Identifier: Apache-2.0
// Ten made-up jobs, on which `sickbay report --check` runs executables: it cannot read a program, so it looks
// what the program prints.
//
// Every column that reports ask for holds something, so that a program which asks for one of them gets rows.
#pragma once
#include <string>

#include "base/result.h"

namespace sickbay::workload {

/// Makes a store of ten jobs at `path`, which must not be there.  Errors: the store's.
Status make_store_of_ten_jobs(const std::string& path);

}  // namespace sickbay::workload
