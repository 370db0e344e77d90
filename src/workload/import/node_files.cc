// SPDX-License-Identifier: Apache-2.0
#include "workload/import/node_files.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/text.h"
#include "workload/import/log.h"
#include "workload/store/node_clusters.h"

namespace sickbay::workload {
namespace {

Result<std::string> whole_input(const std::string& path) {
  auto input = open_input(path);
  if (!input) return fail(std::move(input.error()));
  std::string text;
  text.resize(input->size());
  auto n = input->read_at(0, text.data(), text.size());
  if (!n) return fail(std::move(n.error()));
  text.resize(*n);
  return text;
}

// Names the cluster of the rows that name none: the one that was told, else the one of the store.
class ClusterNamer {
 public:
  ClusterNamer(Store& store, const std::string& told) : store_(store), told_(told) {}

  template <class Row>
  Status name(std::vector<Row>& rows, const std::string& file) {
    for (Row& row : rows) {
      if (!row.cluster.empty()) continue;
      if (auto good = find(file); !good) return good;
      row.cluster = *found_;
    }
    return {};
  }

 private:
  Status find(const std::string& file) {
    if (found_) return {};
    if (!told_.empty()) {
      found_ = told_;
      return {};
    }
    auto clusters = clusters_of(store_.connection());
    if (!clusters) return fail(std::move(clusters.error()));
    if (clusters->ambiguous()) return fail(ambiguous(*clusters, file));
    found_ = clusters->only().value_or("");
    return {};
  }

  static Error ambiguous(const Clusters& clusters, const std::string& file) {
    const auto& names = clusters.of_jobs.empty() ? clusters.of_nodes : clusters.of_jobs;
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + quote_for_message(name);
    return Error(ErrorCode::bad_input,
                 fmt::format("{} does not say of which cluster its nodes are", quote_for_message(file)))
        .because(fmt::format("the store holds the clusters {}{}", all,
                             clusters.unnamed_jobs ? " and jobs that name none" : ""))
        .remedied_by("name it: --cluster NAME");
  }

  Store& store_;
  const std::string& told_;
  std::optional<std::string> found_;
};

Result<NodesSince> since_of(const NodeFiles& files, const std::string& time_zone, std::int64_t now) {
  NodesSince since{.at = now};
  if (files.nodes_since.empty()) return since;
  auto zone = TimeZone::make(time_zone);
  if (!zone) return fail(std::move(zone.error()));
  const bool day = files.nodes_since.size() == 10;  // 2021-05-01
  if (!parse_timestamp(day ? files.nodes_since + "T00:00:00" : files.nodes_since, *zone, since.at))
    return fail(Error(ErrorCode::usage,
                      fmt::format("--nodes-since {} is no time", quote_for_message(files.nodes_since)))
                    .remedied_by("write 2021-05-01 or 2021-05-01T08:00:00"));
  since.said = true;
  return since;
}

}  // namespace

Status import_node_files(Store& store, const NodeFiles& files, const std::string& time_zone, std::int64_t now,
                         const ToldOfNodes& told) {
  ClusterNamer namer(store, files.cluster);
  if (!files.nodes.empty()) {
    auto since = since_of(files, time_zone, now);
    if (!since) return fail(std::move(since.error()));
    auto text = whole_input(files.nodes);
    auto nodes = text ? parse_nodes(*text) : Result<std::vector<NodeFacts>>(fail(std::move(text.error())));
    if (!nodes) return fail(std::move(nodes.error()).in("reading " + files.nodes));
    if (auto named = namer.name(*nodes, files.nodes); !named) return named;
    auto done = import_nodes(store, *nodes, *since);
    if (!done) return fail(std::move(done.error()));
    told("nodes", *done);
  }
  if (!files.events.empty()) {
    auto zone = TimeZone::make(time_zone);
    auto text = whole_input(files.events);
    if (!zone) return fail(std::move(zone.error()));
    auto events = text ? parse_node_events(*text, *zone)
                       : Result<std::vector<NodeEvent>>(fail(std::move(text.error())));
    if (!events) return fail(std::move(events.error()).in("reading " + files.events));
    if (auto named = namer.name(*events, files.events); !named) return named;
    auto done = import_node_events(store, *events);
    if (!done) return fail(std::move(done.error()));
    told("node events", *done);
  }
  return {};
}

}  // namespace sickbay::workload
