// SPDX-License-Identifier: Apache-2.0
// `sickbay report --statement`: a folder for each period, a file in each form for each name.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/report/make_report.h"

namespace sickbay::cli {

/// The words of the command line for statements.
struct StatementWords {
  std::string unit, of = "account";           ///< --statement, --per
  std::vector<std::string> forms = {"html"};  ///< --as
};

/// What is wrong with them and with the options beside them, before any work.  `folder`: what --out names.
/// Errors: usage.
Status check_statements(const StatementWords& words, const std::vector<std::string>& folder);

/// Writes the statements of the store into `folder`/PERIOD/NAME.FORM; makes the folders.  A file that is
/// there is written anew, one that is not made now stays. Errors: as make_statements, as write_output,
/// storage_broken.
Status write_statements(const StatementWords& words, const std::string& folder, const std::string& store_path,
                        workload::RunOrder order, TimePoint now, int threads);

}  // namespace sickbay::cli
