// SPDX-License-Identifier: Apache-2.0
// What of a job lies in a period: the one definition that all reports share, as SQL over `jobs`.
//
// Amounts (core-, node- and GPU-hours, energy, volumes) are spread evenly over the run of a job, and the part
// of the run within [from, to) counts: the share `within`.  Events (submitted, started, ended) count in the
// period in which they lie, so a job counts once.  So the tables of adjoining periods add up to that of the
// whole, which `Shipped.PeriodsAddUp` tries on all shipped reports.
// Without bounds nothing is cut: every job counts whole, also one whose times are not known.
#pragma once
#include <optional>
#include <string>

#include "base/time.h"

namespace sickbay::workload {

/// [from, to); without a bound: open on that side.
struct Bounds {
  std::optional<TimePoint> from, to;
  bool none() const { return !from && !to; }
};

/// Begin of a job's run.  Without a start it is placed by its end and its run time, else from its submission
/// on.  (A run without a length takes a second, so that it lies on one side of each cut.)
std::string run_begin_sql();

/// The jobs that may have something in the period, as a condition; empty: all.  Some have nothing in it.
std::string touches_sql(const Bounds& bounds);
/// The share of the run within the period, 0 to 1; empty: all of it.
std::string within_sql(const Bounds& bounds);
/// The share of the wait (submission to start) within the period; empty: all of it.
std::string wait_within_sql(const Bounds& bounds);
/// Whether a time, never NULL where it counts, lies in the period.
std::string lies_in_sql(const std::string& time, const Bounds& bounds);
/// Whether the run overlaps the period.
std::string runs_in_sql(const Bounds& bounds);
/// Begin and end of the part of the run within the period, UTC; what they say of a run outside of it is
/// nothing.
std::string run_begins_sql(const Bounds& bounds);
std::string run_ends_sql(const Bounds& bounds);

}  // namespace sickbay::workload
