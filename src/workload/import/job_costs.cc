// SPDX-License-Identifier: Apache-2.0
#include "workload/import/job_costs.h"

#include <fmt/format.h>

namespace sickbay::workload {
namespace {

// Rows in place of those of the same `key`.
Status replace(duck::Connection& c, const std::string& table, const std::string& key,
               const std::string& values, const std::vector<std::vector<duck::Value>>& rows) {
  if (rows.empty()) return {};
  if (auto made = c.execute("CREATE TEMP TABLE incoming_rows AS FROM " + table + " LIMIT 0"); !made)
    return made;
  const std::string insert = "INSERT INTO incoming_rows VALUES (" + values + ")";
  for (const auto& row : rows)
    if (auto put = c.query(insert, row); !put) return fail(std::move(put.error()));
  return c.execute(
      fmt::format("DELETE FROM {0} WHERE ({1}) IN (SELECT ({1}) FROM incoming_rows);"
                  "INSERT INTO {0} SELECT DISTINCT ON ({1}) * FROM incoming_rows; DROP TABLE incoming_rows",
                  table, key));
}

}  // namespace

Status import_job_costs(Store& store, const JobCostList& costs) {
  if (costs.empty()) return {};
  std::vector<std::vector<duck::Value>> failures, checkpoints;
  for (const JobFailure& f : costs.failures)
    failures.push_back({f.job, f.restart, f.state, duck::Value(f.at), f.ran_ms, f.checkpoint, f.gone_on,
                        f.recomputed_ms, f.without_ms});
  for (const JobCheckpoint& p : costs.checkpoints)
    checkpoints.push_back({p.job, p.restart, p.checkpoint, duck::Value(p.at), p.took_ms});
  duck::Connection& c = store.connection();
  if (auto begun = c.execute("BEGIN"); !begun) return begun;
  const auto work = [&]() -> Status {
    // (A store from before there were these tables.)
    if (auto made = c.execute(std::string(kJobCostTables)); !made) return made;
    if (auto done = replace(c, "job_failures", "job_id_raw, restart, failed_at",
                            "?, ?, ?, make_timestamp(?), ?, ?, ?, ?, ?", failures);
        !done)
      return done;
    return replace(c, "job_checkpoints", "job_id_raw, checkpoint, taken_at", "?, ?, ?, make_timestamp(?), ?",
                   checkpoints);
  };
  if (auto done = work(); !done) {
    (void)c.execute("ROLLBACK");
    return fail(std::move(done.error()).in("bringing in what failures cost"));
  }
  return c.execute("COMMIT");
}

}  // namespace sickbay::workload
