// SPDX-License-Identifier: Apache-2.0
#include "workload/import/combine_sql.h"

#include <fmt/format.h>

#include <string_view>

#include "workload/merge/combine.h"
#include "workload/store/schema.h"

namespace sickbay::workload {
namespace {

// In what follows `e` is the row that exists, `i` the incoming one.

std::string column_of(Num field) { return std::string(kNumFields[static_cast<std::size_t>(field)].name); }

bool is_time(Num field) { return kNumFields[static_cast<std::size_t>(field)].unit == Unit::time; }

std::string own_row(std::string_view t) {
  return fmt::format("(coalesce({}.repairs, 0) & {} = 0)", t, bit(Repair::job_from_steps));
}
std::string ended(std::string_view t) {
  return fmt::format(
      "(coalesce({}.state, '') NOT IN ('', 'PENDING', 'RUNNING', 'SUSPENDED', 'REQUEUED', 'RESIZING', "
      "'CONFIGURING', 'COMPLETING', 'STOPPED'))",
      t);
}

// compare_richness(): 1 where e is richer, -1 where i is, else 0.
std::string winner() {
  std::string sql = "CASE";
  const auto compare = [&](const std::string& e, const std::string& i) {
    sql += fmt::format(" WHEN {0} IS DISTINCT FROM {1} THEN (CASE WHEN {0} > {1} THEN 1 ELSE -1 END)", e, i);
  };
  compare(own_row("e") + "::INT", own_row("i") + "::INT");
  compare(ended("e") + "::INT", ended("i") + "::INT");
  for (const Num f : kRichness) {
    // An absent number is less than any.
    const auto value = [&](std::string_view t) {
      const std::string raw = fmt::format("{}.{}", t, column_of(f));
      return fmt::format("coalesce({}, -9223372036854775808)", is_time(f) ? "epoch_us(" + raw + ")" : raw);
    };
    compare(value("e"), value("i"));
  }
  return sql + " ELSE 0 END";
}

std::string both_bits(std::string_view column) {
  return fmt::format(
      "CASE WHEN {0} AND NOT {1} THEN e.{2} WHEN {1} AND NOT {0} THEN i.{2} "
      "ELSE coalesce(e.{2} | i.{2}, e.{2}, i.{2}) END",
      own_row("e"), own_row("i"), column);
}

std::string joined(const JobColumn& c) {
  const std::string_view n = c.name;
  switch (c.is_text ? joint_of(c.text) : joint_of(c.num)) {
    case Joint::fill:
      return fmt::format(
          "CASE w WHEN 1 THEN coalesce(e.{0}, i.{0}) WHEN -1 THEN coalesce(i.{0}, e.{0}) "
          "ELSE greatest(e.{0}, i.{0}) END",
          n);
    case Joint::life:
      return fmt::format(
          "CASE WHEN w = 0 THEN greatest(e.{0}, i.{0}) WHEN w = 1 THEN coalesce(e.{0}, CASE WHEN fills THEN "
          "i.{0} "
          "END) ELSE coalesce(i.{0}, CASE WHEN fills THEN e.{0} END) END",
          n);
    case Joint::most:
      return fmt::format("greatest(e.{0}, i.{0})", n);
    case Joint::bits:
      return both_bits(n);
    case Joint::made:
      // Labels are the newer import's, where it made any and has seen the names.
      return fmt::format("CASE WHEN w = 1 OR i.application IS NULL THEN e.{0} ELSE i.{0} END", n);
  }
  return {};
}

// flaws_of(), of the combined row `c`.
std::string flaws() {
  const auto flag = [](Flaw f, std::string_view when) {
    return fmt::format("(CASE WHEN {} THEN {} ELSE 0 END)", when, bit(f));
  };
  std::string sql = fmt::format("(flaws & {})", ~derived_flaws());
  sql += " | " + flag(Flaw::end_before_start, "end_time < start_time");
  sql += " | " + flag(Flaw::start_before_submit, "start_time < submit_time");
  sql += " | " + flag(Flaw::over_used, "cpu_time > 0 AND total_cpu // 10000 > cpu_time");
  sql += " | " + flag(Flaw::no_user, "user_name IS NULL AND uid IS NULL");
  sql += " | " + flag(Flaw::no_cpus, "elapsed > 0 AND coalesce(cpus, 0) <= 0");
  sql += " | " + flag(Flaw::over_limit,
                      "time_limit >= 0 AND greatest(elapsed, 0) - greatest(time_limit, 0) > greatest(3600, "
                      "time_limit // 10)");
  sql += " | " + flag(Flaw::no_start, "elapsed > 0 AND start_time IS NULL");
  return sql;
}

// A job of which only steps are known has no submission to be found by: it takes that of the instance in
// whose run it began.
std::string adopt_sql(std::string_view fragments, std::string_view instances) {
  return fmt::format(
      "UPDATE {0} SET submit_time = n.submit_time FROM {1} n WHERE {0}.submit_time IS NULL AND "
      "coalesce({0}.repairs, 0) & {2} <> 0 AND n.submit_time IS NOT NULL AND n.job_id = {0}.job_id AND "
      "n.cluster IS NOT DISTINCT FROM {0}.cluster AND n.start_time <= {0}.start_time AND "
      "(n.end_time IS NULL OR {0}.start_time <= n.end_time) AND NOT EXISTS (SELECT 1 FROM {0} o WHERE "
      "o.job_id = n.job_id AND o.cluster IS NOT DISTINCT FROM n.cluster AND o.submit_time = "
      "n.submit_time);\n",
      fragments, instances, bit(Repair::job_from_steps));
}

}  // namespace

std::string combine_sql() {
  std::string sql = adopt_sql("incoming", "jobs") + adopt_sql("jobs", "incoming");
  // Narrow first: most rows of an overlap are the same as before, and only the others are read in full.
  // (Two rows that differ and have the same 64-bit hash: once in 10^19 pairs.)
  sql += fmt::format(
      "CREATE TEMP TABLE import_pairs AS SELECT e.r AS er, i.r AS ir, e.h AS eh, i.h AS ih FROM "
      "(SELECT rowid AS r, cluster, job_id, submit_time, hash({0}) AS h FROM jobs) e JOIN "
      "(SELECT rowid AS r, cluster, job_id, submit_time, hash({0}) AS h FROM incoming) i "
      "ON e.job_id = i.job_id AND e.submit_time IS NOT DISTINCT FROM i.submit_time AND "
      "e.cluster IS NOT DISTINCT FROM i.cluster;\n",
      column_names(job_columns()));
  std::string made;
  for (const JobColumn& c : job_columns()) made += fmt::format(",\n {} AS {}", joined(c), c.name);
  sql += fmt::format(
      "CREATE TEMP TABLE import_combined AS SELECT * EXCLUDE (eh) FROM ("
      "SELECT c.* REPLACE ((CASE WHEN flaws IS NULL THEN NULL ELSE {0} END) AS flaws) FROM ("
      "SELECT t.* REPLACE ((CASE WHEN coalesce(repairs, 0) & {1} <> 0 THEN NULL ELSE start_time END) AS "
      "start_time) "
      "FROM (SELECT er, eh{2} FROM (SELECT p.er, p.eh, p.ir, {3} AS w, {4} = {5} AS fills FROM import_pairs "
      "p "
      "JOIN jobs e ON e.rowid = p.er JOIN incoming i ON i.rowid = p.ir WHERE p.eh <> p.ih) q "
      "JOIN jobs e ON e.rowid = q.er JOIN incoming i ON i.rowid = q.ir) t) c) d WHERE hash({6}) <> eh;\n",
      flaws(), bit(Repair::never_started), made, winner(), ended("e"), ended("i"),
      column_names(job_columns(), "d"));
  sql += "DELETE FROM jobs WHERE rowid IN (SELECT er FROM import_combined);\n";
  sql += "INSERT INTO jobs SELECT * EXCLUDE (er) FROM import_combined;\n";
  sql += "INSERT INTO jobs SELECT i.* FROM incoming i ANTI JOIN import_pairs p ON i.rowid = p.ir;\n";
  return sql;
}

std::string combine_done_sql() {
  return "DROP TABLE incoming; DROP TABLE import_pairs; DROP TABLE import_combined;";
}

std::string in_future_sql(std::string_view table) {
  return fmt::format(
      "UPDATE {1} SET flaws = xor(flaws, {0}) WHERE flaws IS NOT NULL AND (flaws & {0} <> 0) <> "
      "coalesce(greatest(submit_time, start_time, end_time) > (SELECT max(imported_at) FROM imports) + "
      "INTERVAL "
      "1 DAY, false);",
      bit(Flaw::in_future), table);
}

}  // namespace sickbay::workload
