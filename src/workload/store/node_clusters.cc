// SPDX-License-Identifier: Apache-2.0
#include "workload/store/node_clusters.h"

#include <fmt/format.h>

#include <utility>

namespace sickbay::workload {
namespace {

// The names that `sql` gives, and whether one of its rows has none.
Status take_names(duck::Connection& connection, std::string_view sql, std::vector<std::string>& names,
                  bool& unnamed) {
  auto rows = connection.query(sql);
  if (!rows) return fail(std::move(rows.error()).in("looking which clusters the store holds"));
  for (auto& row : rows->rows) {
    if (auto* name = std::get_if<std::string>(&row[0]); name != nullptr)
      names.push_back(std::move(*name));
    else
      unnamed = true;
  }
  return {};
}

}  // namespace

std::optional<std::string> Clusters::only() const {
  if (of_jobs.size() == 1 && !unnamed_jobs) return of_jobs.front();
  if (of_jobs.empty() && of_nodes.size() == 1) return of_nodes.front();
  return std::nullopt;
}

bool Clusters::ambiguous() const {
  const std::size_t jobs = of_jobs.size() + (unnamed_jobs ? 1 : 0);
  return jobs > 1 || (of_jobs.empty() && of_nodes.size() > 1);
}

Result<Clusters> clusters_of(duck::Connection& connection) {
  Clusters all;
  Status read = take_names(connection, "SELECT DISTINCT cluster FROM jobs ORDER BY cluster", all.of_jobs,
                           all.unnamed_jobs);
  if (read)
    read = take_names(connection,
                      "SELECT DISTINCT cluster FROM (SELECT cluster FROM nodes UNION ALL SELECT cluster FROM "
                      "node_events) ORDER BY cluster",
                      all.of_nodes, all.unnamed_nodes);
  if (!read) return fail(std::move(read.error()));
  return all;
}

Status name_unnamed_nodes(Store& store) {
  duck::Connection& c = store.connection();
  std::vector<std::string> names;
  bool unnamed = false;
  if (auto looked =
          take_names(c,
                     "SELECT NULL::VARCHAR WHERE EXISTS (SELECT 1 FROM nodes WHERE cluster IS NULL) OR "
                     "EXISTS (SELECT 1 FROM node_events WHERE cluster IS NULL)",
                     names, unnamed);
      !looked || !unnamed)
    return looked;  // mostly: the jobs need not be read
  auto clusters = clusters_of(c);
  if (!clusters) return fail(std::move(clusters.error()));
  if (clusters->of_jobs.size() != 1 || clusters->unnamed_jobs) return {};
  // What is there under the name already was told of the cluster itself, and stays.
  const std::string name = duck::quote(clusters->of_jobs.front());
  return c.execute(fmt::format(
      "BEGIN;"
      "DELETE FROM nodes AS o USING nodes AS n WHERE o.cluster IS NULL AND n.cluster = {0} AND n.node = "
      "o.node "
      "AND n.valid_from IS NOT DISTINCT FROM o.valid_from;"
      "DELETE FROM node_events AS o USING node_events AS n WHERE o.cluster IS NULL AND n.cluster = {0} AND "
      "n.node = o.node AND n.state IS NOT DISTINCT FROM o.state AND n.begins = o.begins;"
      "UPDATE nodes SET cluster = {0} WHERE cluster IS NULL;"
      "UPDATE node_events SET cluster = {0} WHERE cluster IS NULL;"
      "COMMIT;",
      name));
}

}  // namespace sickbay::workload
