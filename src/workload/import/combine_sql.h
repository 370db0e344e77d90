// SPDX-License-Identifier: Apache-2.0
// combine() of merge.h as SQL, for whole tables at once; the test compares the two on random pairs.
#pragma once
#include <string>
#include <string_view>

namespace sickbay::workload {

/// Statements that bring the table `incoming` into `jobs`; both have the columns of job_columns(), and no key
/// twice.  Afterwards the temporary tables `import_pairs` and `import_combined` are there: rows whose key
/// both had, and those of them that changed.
std::string combine_sql();
/// Drops what combine_sql() left.
std::string combine_done_sql();
/// Statements that set Flaw::in_future of all jobs in `table`: a log cannot know what comes after its import.
/// Compared is with the newest row of `imports`, not with the clock: a second import of the same adds none
/// and changes nothing.
std::string in_future_sql(std::string_view table = "jobs");

}  // namespace sickbay::workload
