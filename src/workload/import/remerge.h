// SPDX-License-Identifier: Apache-2.0
// Jobs of which an import has some records and the imports before it others, made anew from all of them.
//
// For logs that tell runs one by one (PBS, TORQUE, SGE).  The store keeps the records of the jobs that are
// not settled (merge/records.h); where one of those jobs comes again, or a job that was settled goes on, all
// that is known of its id is merged once more and takes the place of what stood there.  So the store is the
// one that a single import of all the logs makes, whatever their order.  Invariant: the jobs of an id that
// has kept records are made of these and of nothing else.
// An import into an empty store has nothing to make anew: its jobs and records go straight to their tables
// (set_aside.h).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "adapters/duckdb/database.h"
#include "base/result.h"
#include "workload/label/label.h"

namespace sickbay::workload {

/// What became of the jobs that were made anew.
struct Remade {
  std::uint64_t added = 0, changed = 0, unchanged = 0;
};

/// One import's.  Within its transaction: the rows of the logs, jobs and records, go into arrived_sql()'s
/// table; run(); then the jobs of the table `incoming` are brought into `jobs` as those of any import; at
/// last done_sql().
class Remerge {
 public:
  /// `labels` may be null.  With `hidden`, names in the store are pseudonyms: then labels are not made anew
  /// but taken from the records, which were labelled by their names.
  /// Before the transaction, since a source cannot be added within one.  Errors: of DuckDB.
  static Result<Remerge> make(duck::Connection& connection, const Labeller* labels, bool hidden);

  /// Makes the temporary table `arrived`, whose columns are those of RowWriter::of_records().
  static std::string arrived_sql();
  /// Replaces the jobs and the records of the ids that need it, keeps new records, and leaves the other
  /// jobs in the temporary table `incoming`.  `tells_runs`: one of the logs does.  Errors: of DuckDB.
  Result<Remade> run(duck::Connection& connection, bool tells_runs);
  static std::string done_sql();

 private:
  struct Batch;
  Remerge(std::shared_ptr<Batch> batch, std::string source)
      : batch_(std::move(batch)), source_(std::move(source)) {}
  Status remake(duck::Connection& connection, std::int64_t count);

  std::shared_ptr<Batch> batch_;  // what the source gives next
  std::string source_;
};

}  // namespace sickbay::workload
