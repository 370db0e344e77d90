// SPDX-License-Identifier: Apache-2.0
#include "workload/report/node_views.h"

#include <fmt/format.h>

#include <algorithm>

namespace sickbay::workload {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + duck::quote(name);
  return list;
}

std::string wanted_sql(const std::vector<std::string>& wanted) {
  return wanted.empty() ? "true" : fmt::format("cluster_of(v.cluster) IN ({})", list_of(wanted));
}

// Clusters of which there are jobs.
std::string with_jobs_sql(const Clusters& clusters) {
  const auto only = clusters.only();
  std::vector<std::string> names = clusters.of_jobs;
  if (clusters.unnamed_jobs && only) names.push_back(*only);
  std::string sql = clusters.unnamed_jobs && !only ? "cluster_of(v.cluster) IS NULL" : "false";
  if (!names.empty()) sql += fmt::format(" OR cluster_of(v.cluster) IN ({})", list_of(names));
  return '(' + sql + ')';
}

// Two lists may have told of a node without a cluster and with its name: one row for each date.
constexpr const char* kNodeSizes = R"(CREATE OR REPLACE TEMP VIEW node_sizes AS
SELECT * FROM (
  SELECT cluster, node, cpus, memory, gpus, partitions, greatest(local_time(valid_from), p.begins) AS begins,
         least(lead(local_time(valid_from)) OVER (PARTITION BY cluster, node ORDER BY valid_from NULLS FIRST), p.ends) AS ends,
         coalesce(cluster, '') IN (SELECT coalesce(cluster_of(cluster), '') FROM node_events) AS watched
  FROM (SELECT v.* REPLACE (cluster_of(v.cluster) AS cluster) FROM nodes v WHERE {} AND {}
        QUALIFY row_number() OVER (PARTITION BY cluster_of(v.cluster), node, valid_from ORDER BY v.cluster) = 1), period p)
WHERE begins < ends;
)";

// Node events that mean "no work", cut to the period.  Those of one node may overlap; so that an hour counts
// once, `counted_from` is what lies behind all earlier ones.
constexpr const char* kNodeDown = R"(CREATE OR REPLACE TEMP VIEW node_down AS
SELECT *, greatest(begins, max(ends) OVER (PARTITION BY cluster, node ORDER BY begins, ends
                                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS counted_from
FROM (SELECT cluster_of(v.cluster) AS cluster, node, greatest(local_time(v.begins), p.begins) AS begins, {} AS began_here,
             least(coalesce(local_time(v.ends), p.ends), p.ends) AS ends, reason
      FROM node_events v, period p
      WHERE regexp_matches(upper(v.state), 'DOWN|FAIL|ERROR|MAINT|RESPOND|DRAIN')
        AND NOT regexp_matches(upper(v.state), 'DRAINING|FAILING|MIXED|ALLOC|POWER') AND {})
WHERE begins < ends;
CREATE OR REPLACE TEMP VIEW node_lost AS
SELECT n.cluster, n.node, n.cpus, greatest(d.counted_from, n.begins) AS begins, least(d.ends, n.ends) AS ends
FROM node_down d JOIN node_sizes n ON n.node = d.node AND n.cluster IS NOT DISTINCT FROM d.cluster
WHERE d.counted_from < d.ends AND d.counted_from < n.ends AND n.begins < d.ends;
)";

}  // namespace

std::string cluster_macros_sql(const Clusters& clusters, const std::vector<std::string>& wanted) {
  const auto only = clusters.only();
  std::size_t several = clusters.of_jobs.size() + (clusters.unnamed_jobs ? 1 : 0);
  if (!wanted.empty()) several = std::min(several, wanted.size());
  return fmt::format(
      "CREATE OR REPLACE TEMP MACRO cluster_of(c) AS {};\n"
      "CREATE OR REPLACE TEMP MACRO at_cluster(name, c) AS {};\n",
      only ? fmt::format("coalesce(c, {})", duck::quote(*only)) : std::string("c"),
      several > 1 ? "name || coalesce('@' || c, '')" : "name");
}

std::string node_views_sql(const Clusters& clusters, const std::vector<std::string>& wanted, bool cut) {
  return fmt::format(kNodeSizes, wanted_sql(wanted), with_jobs_sql(clusters)) +
         fmt::format(kNodeDown, cut ? "local_time(v.begins) >= p.begins" : "true", wanted_sql(wanted));
}

}  // namespace sickbay::workload
