// SPDX-License-Identifier: Apache-2.0
// Labels and the store: what it holds without a label, samples of what it labels, and all labels anew.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/label/audit.h"
#include "workload/label/label.h"
#include "workload/label/suggest.h"
#include "workload/store/store.h"

namespace sickbay::workload {

/// What a store has without a label.
struct StoredNames {
  std::vector<NamedJobs> unlabelled;
  std::string unit;        ///< of the weights: "core-hours"; "cores" or "jobs" where the log has no times
  std::uint64_t jobs = 0;  ///< in the store
  double weight = 0;       ///< of all of them
};
Result<StoredNames> read_names(duck::Connection& connection);
/// Shows each of `accepting` all jobs of the store, with the weights that `stored` has.
Status see_all(duck::Connection& connection, const StoredNames& stored, std::span<Accepting> accepting);

/// `records` labelled jobs of `users` users, both drawn by `seed`: the same of the same store.
Result<AuditSheet> sample_labelled(duck::Connection& connection, std::int64_t seed, std::uint64_t users,
                                   std::uint64_t records);

struct Relabelled {
  std::uint64_t jobs = 0, changed = 0;
  std::uint64_t labelled_before = 0, labelled = 0;  ///< jobs with an application
};
/// Labels all jobs of a store anew.  The labels are made before the transaction, which only writes those that
/// changed.  `dry`: only counts.  Errors: the store's.
Result<Relabelled> relabel(Store& store, const Labeller& labeller, bool dry = false);

}  // namespace sickbay::workload
