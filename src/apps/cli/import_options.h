// SPDX-License-Identifier: Apache-2.0
// How accounting logs are read: the options that `sickbay import` and `sickbay report LOG` share, and what
// they make of them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "workload/import/import.h"

namespace CLI {
class App;
}

namespace sickbay::cli {

struct ImportOptions {
  std::string format, delimiter, cluster, column_map, pseudonym_key_file, rejects;
  std::vector<std::string> columns, labels;
  double max_rejects = 5;  ///< per cent
  bool live = false;
};

/// Adds them to `command`, in a group of their own.  (The zone of the log is the command's --tz.)
void add_import_options(CLI::App& command, ImportOptions& options);

/// An order with what it points to.
struct LogImport {
  std::optional<workload::Labeller> labels;
  workload::ImportOrder order;
};
/// Reads the files that the options name: labels (the shipped ones, then those of the site), key, column map.
/// Errors: not_found, bad_input.
Result<std::unique_ptr<LogImport>> prepare_import(const ImportOptions& options,
                                                  const std::vector<std::string>& logs,
                                                  const std::string& time_zone, int threads);

/// Lets sacct write what it knows of [from, to) to `path`, all users, all columns that this sacct has and
/// that we read, times in UTC.  Errors: missing_program, slurm_away, storage_full.
Status fetch_live_log(TimePoint from, TimePoint to, const std::string& path);

}  // namespace sickbay::cli
