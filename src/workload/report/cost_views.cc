// SPDX-License-Identifier: Apache-2.0
#include "workload/report/cost_views.h"

#include <fmt/format.h>

#include "base/text.h"
#include "workload/store/schema.h"

namespace sickbay::workload {
namespace {

std::string within(const Filter& filter, std::string_view time) {
  std::string sql;
  const auto add = [&](const char* sign, TimePoint t) {
    sql +=
        fmt::format("{} {} {} make_timestamp({})", sql.empty() ? "WHERE" : " AND", time, sign, to_micros(t));
  };
  if (filter.from) add(">=", *filter.from);
  if (filter.to) add("<", *filter.to);
  return sql;
}

// `table` with the run of the log that each of its rows speaks of: the one that was submitted last before it
// (Slurm submits a run anew in the second in which the one before ends).
// A log without duplicates has only the last run of a requeued job, submitted after the failure: then that
// one.  Runs are looked for outside of the period, too, for the row is counted where it lies itself.
std::string with_jobs(const ViewOrder& order, const std::string& table, const std::string& time,
                      const std::string& figures) {
  ViewOrder whenever = order;
  whenever.filter.from.reset();
  whenever.filter.to.reset();
  whenever.stand = {};
  static const std::set<std::string> wanted = {"job_id_raw",  "cluster", "user_name", "account",
                                               "partition",   "nodes",   "cores",     "application",
                                               "submit_time", "restarts"};
  return fmt::format(
      R"(
WITH told AS (SELECT *, row_number() OVER () AS number FROM {0} {1}),
runs AS ({3}),
pairs AS (
  SELECT told.* EXCLUDE (cluster), r.cluster, r.user_name, r.account, r."partition", r.application, r.nodes, r.cores,
         row_number() OVER (PARTITION BY number ORDER BY r.submit_time < told.{2} DESC,
                            abs(epoch_us(told.{2}) - epoch_us(r.submit_time)), r.cluster) AS choice
  FROM told JOIN runs r USING (job_id_raw)
  WHERE (told.cluster IS NULL OR told.cluster = r.cluster) AND (r.submit_time < told.{2} OR coalesce(r.restarts, 1) > 0)
)
SELECT job_id_raw, cluster, user_name, account, "partition", application, nodes, cores, local_time({2}) AS {2}, restart, checkpoint, {4}
FROM pairs WHERE choice = 1)",
      table, within(order.filter, time), time, job_select_sql(whenever, &wanted), figures);
}

}  // namespace

std::string cost_views_sql(const ViewOrder& order, bool has_tables) {
  std::string sql;
  if (!has_tables) {
    sql = kJobCostTables;
    for (const auto* at = "CREATE TABLE"; sql.find(at) != sql.npos;)
      sql.replace(sql.find(at), std::string_view(at).size(), "CREATE TEMP TABLE");
  }
  sql += "CREATE OR REPLACE TEMP VIEW failed_runs AS" +
         with_jobs(order, "job_failures", "failed_at",
                   "state, gone_on, ran_ms / 1000.0::DOUBLE AS ran_s, recomputed_ms / 1000.0::DOUBLE AS "
                   "recomputed_s, (without_ms - recomputed_ms) / 1000.0::DOUBLE AS saved_s, "
                   "cores * recomputed_ms / 3600000.0::DOUBLE AS lost_core_h, "
                   "cores * (without_ms - recomputed_ms) / 3600000.0::DOUBLE AS saved_core_h");
  sql += ";\nCREATE OR REPLACE TEMP VIEW checkpoints_taken AS" +
         with_jobs(order, "job_checkpoints", "taken_at",
                   "took_ms / 1000.0::DOUBLE AS took_s, cores * took_ms / 3600000.0::DOUBLE AS "
                   "checkpoint_core_h") +
         ";\n";
  return sql;
}

}  // namespace sickbay::workload
