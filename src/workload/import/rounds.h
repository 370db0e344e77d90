// SPDX-License-Identifier: Apache-2.0
// What a whole import is, from the words of whoever wants it: of logs, or of what sacct tells; once, or round
// by round.
//
// The store is open only while something is written: sacct may take minutes, and reports want to read.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "workload/import/asked_log.h"
#include "workload/import/changes.h"
#include "workload/import/import.h"
#include "workload/import/job_costs.h"
#include "workload/import/node_files.h"

namespace sickbay::workload {

struct ImportPlan {
  std::string store_path;
  ImportOrder order;  ///< without inputs: sacct is asked
  NodeFiles node_files;
  JobCostList costs;
  std::optional<std::int64_t> from, to;  ///< UTC seconds, of what sacct is asked for
  AskSacct ask_sacct;                    ///< called only where `order` names no input
};

/// Brings in what the plan has of nodes, and what failures cost.  Errors: as import_node_files.
Status import_nodes_of(const ImportPlan& plan, std::int64_t now, const ToldOfNodes& told);

/// One import.  Without `from`, sacct is asked for the day before `now`.  Where it is asked up to `now` (no
/// `to`), and earlier imports leave no gap before that, the store keeps until when it was asked.
/// Errors: as import_logs, as ask_sacct.
Result<ImportResult> import_once(const ImportPlan& plan, std::int64_t now);

/// One import of what sacct tells since it was asked last, by whatever process and however long ago, and of
/// the day before that: what slurmctld held back while slurmdbd was away has times of its own.  What failed
/// is asked for again by the next one. Errors: not_found where the store does not know of a last time; as
/// import_once.
Result<ImportResult> import_since_last(const ImportPlan& plan, std::int64_t now);

/// Imports of one plan, one after another.
class ImportRounds {
 public:
  explicit ImportRounds(ImportPlan plan);
  /// Imports the logs that have changed since the last round, or what sacct tells since then; until when is
  /// kept in the store, so that it is asked on from there by another process, too.  Nothing: no log changed.
  /// What failed is tried again by the next round.
  Result<std::optional<ImportResult>> next(std::int64_t now);

 private:
  ImportPlan plan_;
  FileChanges changes_;
};

/// Whether what ended a round may be better at the next one; a wrong command line is not.
bool may_be_better_later(const Error& error);

}  // namespace sickbay::workload
