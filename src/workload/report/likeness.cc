// SPDX-License-Identifier: Apache-2.0
#include "workload/report/likeness.h"

#include <fmt/format.h>

namespace sickbay::workload {
namespace {

// What a shape is made of; NULLs are alike.
constexpr std::string_view kSize =
    "cluster, user_name, like_cores, like_nodes, like_gpus, time_limit, req_mem";
constexpr std::string_view kSizeColumns[] = {"cluster",   "user_name",  "like_cores", "like_nodes",
                                             "like_gpus", "time_limit", "req_mem"};

std::string same_size(std::string_view a, std::string_view b) {
  std::string sql;
  for (const std::string_view column : kSizeColumns)
    sql +=
        fmt::format("{}{}.{} IS NOT DISTINCT FROM {}.{}", sql.empty() ? "" : " AND ", a, column, b, column);
  return sql;
}

// Wilson's lower bound at 95 % (workload/label/audit.h has it in C++).
constexpr std::string_view kMacros =
    "CREATE OR REPLACE TEMP MACRO like_bound(hits, n) AS greatest(0.0, (hits / n + 3.841458820694124 / (2 * "
    "n) - "
    "1.959963984540054 * sqrt(hits / n * (1 - hits / n) / n + 3.841458820694124 / (4 * n * n))) / "
    "(1 + 3.841458820694124 / n));\n"
    "CREATE OR REPLACE TEMP MACRO like_name(name) AS regexp_replace(lower(name), '[0-9]+', '#', 'g');\n";

// jobs with the parts of their shapes.
constexpr std::string_view kShaped =
    "CREATE OR REPLACE TEMP VIEW like_jobs AS SELECT *, like_name(job_name) AS like_job_name, "
    "coalesce(nullif(cpus, 0), req_cpus) AS like_cores, coalesce(nullif(nodes, 0), req_nodes) AS like_nodes, "
    "coalesce(gpus, req_gpus, 0) AS like_gpus, coalesce(application, 'unknown') <> 'unknown' AS like_known "
    "FROM jobs;\n";

}  // namespace

std::string likeness_sql(double least) {
  std::string sql = std::string(kMacros) + std::string(kShaped);
  // A job without a user is nobody's; one without a name or a size has no shape.
  sql += fmt::format(
      "CREATE OR REPLACE TEMP TABLE like_names AS SELECT {0}, like_job_name, arg_max(application, n) AS "
      "application, "
      "arg_max(app_field, n) AS app_field, max(n) AS agree, sum(n) AS witnesses, "
      "like_bound(max(n), sum(n)) AS confidence "
      "FROM (SELECT {0}, like_job_name, application, any_value(app_field) AS app_field, count(*)::DOUBLE AS "
      "n "
      "FROM like_jobs WHERE like_known AND user_name IS NOT NULL AND like_job_name IS NOT NULL GROUP BY ALL) "
      "GROUP BY {0}, like_job_name HAVING like_bound(max(n), sum(n)) >= {1};\n",
      kSize, least);
  sql += fmt::format(
      "CREATE OR REPLACE TEMP TABLE like_sizes AS SELECT {0}, arg_max(application, n) AS application, "
      "arg_max(app_field, n) AS app_field, max(n) AS agree, sum(n) AS witnesses, "
      "like_bound(max(n), sum(n)) AS confidence "
      "FROM (SELECT {0}, application, any_value(app_field) AS app_field, count(*)::DOUBLE AS n FROM "
      "(SELECT {0}, like_job_name, CASE WHEN min(application) = max(application) THEN min(application) ELSE "
      "'' END AS "
      "application, any_value(app_field) AS app_field FROM like_jobs "
      "WHERE like_known AND user_name IS NOT NULL AND like_cores IS NOT NULL GROUP BY {0}, like_job_name) "
      "GROUP BY {0}, application) GROUP BY {0} "
      "HAVING like_bound(max(n), sum(n)) >= {1} AND arg_max(application, n) <> '';\n",
      kSize, least);
  sql += fmt::format(
      "CREATE OR REPLACE TEMP VIEW jobs_like AS SELECT s.* EXCLUDE (like_job_name, like_cores, like_nodes, "
      "like_gpus, "
      "like_known) REPLACE ("
      "CASE WHEN like_known THEN s.application ELSE coalesce(n.application, z.application, 'unknown') END AS "
      "application, "
      "CASE WHEN like_known THEN s.app_field ELSE coalesce(n.app_field, z.app_field) END AS app_field, "
      "CASE WHEN NOT like_known AND coalesce(n.application, z.application) IS NOT NULL THEN 'like' "
      "ELSE s.labelled_by END AS labelled_by), "
      "CASE WHEN NOT like_known THEN coalesce(n.confidence, z.confidence) END AS label_confidence "
      "FROM like_jobs s LEFT JOIN like_names n ON {} AND s.like_job_name = n.like_job_name "
      "LEFT JOIN like_sizes z ON {};\n",
      same_size("s", "n"), same_size("s", "z"));
  return sql;
}

// Each witness is asked by the others: with it gone, the majority of a shape is the same unless it is a tie,
// so that those that agree are told rightly, and the others wrongly.
std::string likeness_check_sql() {
  return "SELECT coalesce(sum(witnesses), 0)::BIGINT AS asked, coalesce(sum(agree), 0)::BIGINT AS \"right\" "
         "FROM (SELECT witnesses, agree FROM like_names UNION ALL SELECT witnesses, agree FROM like_sizes)";
}

}  // namespace sickbay::workload
