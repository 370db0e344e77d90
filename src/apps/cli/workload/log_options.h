// SPDX-License-Identifier: Apache-2.0
// How accounting logs are read: the options that `sickbay import` and `sickbay report LOG` share, and what
// they make of them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/import/import.h"
#include "workload/import/node_files.h"

namespace CLI {
class App;
}

namespace sickbay::cli {

struct LogOptions {
  std::string format, delimiter, columns, column_map, cluster, pseudonyms, rejects, events, nodes,
      nodes_since, journal;
  std::vector<std::string> labels;
  double max_rejects = 0.05;
};

/// Adds them to `command`; `group` is their headline in the help.  (The zone is the command's --tz.)
void add_log_options(CLI::App& command, LogOptions& options, const std::string& group);

/// An order with what it points to.
struct LogOrder {
  std::optional<workload::Labeller> labels;
  workload::ImportOrder order;
};
/// Reads the files that the options name: labels (the shipped ones, then those of the site), key, column map.
/// Errors: not_found, bad_input.
Result<std::unique_ptr<LogOrder>> make_log_order(const LogOptions& options,
                                                 const std::vector<std::string>& logs,
                                                 const std::string& time_zone, int threads);

/// What --nodes and --events name.
workload::NodeFiles node_files_of(const LogOptions& options);

}  // namespace sickbay::cli
