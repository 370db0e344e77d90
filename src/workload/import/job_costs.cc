// SPDX-License-Identifier: Apache-2.0
#include "workload/import/job_costs.h"

#include <fmt/format.h>

#include "workload/import/bring_in.h"

namespace sickbay::workload {
namespace {

// Rows in place of those of the same `key`.
BringIn replacing(const std::string& table, const std::vector<std::string>& key) {
  std::string same, words;
  for (const std::string& column : key) {
    same += fmt::format("{}o.{} IS NOT DISTINCT FROM i.{}", same.empty() ? "" : " AND ", column, column);
    words += (words.empty() ? "" : ", ") + column;
  }
  const std::string there = fmt::format("SELECT 1 FROM {} o WHERE {}", table, same);
  const std::string some = fmt::format("(SELECT DISTINCT {} FROM incoming_rows) i", words);
  return {.table = table,
          .added = fmt::format("SELECT count(*) FROM {} WHERE NOT EXISTS ({})", some, there),
          .changed = fmt::format("SELECT count(*) FROM (SELECT * FROM incoming_rows EXCEPT FROM {})", table),
          .merge = fmt::format("DELETE FROM {0} AS o USING {1} WHERE {2};"
                               "INSERT INTO {0} SELECT DISTINCT ON ({3}) * FROM incoming_rows",
                               table, some, same, words)};
}

duck::Value text(const std::string& value) { return value.empty() ? duck::Value() : duck::Value(value); }

}  // namespace

Status import_job_costs(Store& store, const JobCostList& costs) {
  if (costs.empty()) return {};
  // (A store from before there were these tables.)
  if (auto made = store.connection().execute(std::string(kJobCostTables)); !made) return made;
  std::vector<std::vector<duck::Value>> rows;
  for (const JobFailure& f : costs.failures)
    rows.push_back({text(costs.cluster), f.job, f.restart, f.state, f.at, f.ran_ms, f.checkpoint, f.gone_on,
                    f.recomputed_ms, f.without_ms});
  auto done = bring_in(store, replacing("job_failures", {"cluster", "job_id_raw", "restart", "failed_at"}),
                       std::move(rows));
  if (!done) return fail(std::move(done.error()).in("bringing in what failures cost"));
  rows = {};
  for (const JobCheckpoint& p : costs.checkpoints)
    rows.push_back({text(costs.cluster), p.job, p.restart, p.checkpoint, p.at, p.took_ms});
  done = bring_in(store, replacing("job_checkpoints", {"cluster", "job_id_raw", "checkpoint", "taken_at"}),
                  std::move(rows));
  if (!done) return fail(std::move(done.error()).in("bringing in what checkpoints cost"));
  return {};
}

}  // namespace sickbay::workload
