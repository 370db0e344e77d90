// SPDX-License-Identifier: Apache-2.0
#include "workload/import/node_files.h"

#include "workload/import/log.h"

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

}  // namespace

Status import_node_files(Store& store, const NodeFiles& files, const std::string& time_zone,
                         const ToldOfNodes& told) {
  if (!files.nodes.empty()) {
    auto text = whole_input(files.nodes);
    auto nodes = text ? parse_nodes(*text) : Result<std::vector<NodeFacts>>(fail(std::move(text.error())));
    if (!nodes) return fail(std::move(nodes.error()).in("reading " + files.nodes));
    auto done = import_nodes(store, *nodes);
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
    auto done = import_node_events(store, *events);
    if (!done) return fail(std::move(done.error()));
    told("node events", *done);
  }
  return {};
}

}  // namespace sickbay::workload
