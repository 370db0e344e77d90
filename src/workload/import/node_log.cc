// SPDX-License-Identifier: Apache-2.0
#include "workload/import/node_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"

namespace sickbay::workload {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = line.find(separator);
    parts.push_back(line.substr(0, at));
    if (at == std::string_view::npos) return parts;
    line.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, ' '))
    if (!trimmed(word).empty()) words.push_back(trimmed(word));
  return words;
}

Error bad_line(std::size_t number, std::string what) {
  return {ErrorCode::bad_input, fmt::format("line {}: {}", number + 1, what)};
}

// The number of `key` in "cpu=16,mem=64000M,gres/gpu=4"; of several kinds ("gres/gpu:a100=2") the sum, where
// the total is not told.
std::optional<std::int64_t> tres_count(std::string_view tres, std::string_view key) {
  std::optional<std::int64_t> total, kinds;
  for_each_tres(tres, [&](std::string_view name, std::string_view value) {
    std::int64_t n = 0;
    if (!parse_integer(value, n)) return;
    if (name == key)
      total = n;
    else if (name.size() > key.size() && name.starts_with(key) && name[key.size()] == ':')
      kinds = kinds.value_or(0) + n;
  });
  return total ? total : kinds;
}

std::string sorted_list(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

// What the rows of one node become.
struct NodeDraft {
  NodeFacts facts;
  std::set<std::string> partitions;
};
// By cluster and name.
using NodeDrafts = std::map<std::pair<std::string, std::string>, NodeDraft>;

std::vector<NodeFacts> finished(NodeDrafts& drafts) {
  std::vector<NodeFacts> nodes;
  for (auto& [name, draft] : drafts) {
    draft.facts.cluster = name.first;
    draft.facts.node = name.second;
    draft.facts.partitions = sorted_list(draft.partitions);
    nodes.push_back(std::move(draft.facts));
  }
  return nodes;
}

// One line of `scontrol show node -o`: KEY=VALUE words.
Status read_scontrol_line(std::string_view line, std::size_t number, const std::string& cluster,
                          NodeDrafts& drafts) {
  std::string_view name;
  NodeDraft draft;
  std::int64_t n = 0;
  for (const std::string_view word : words_of(line)) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;  // of a text with blanks: OS=, Reason=
    const auto key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "NodeName")
      name = value;
    else if (key == "CPUTot" && parse_integer(value, n))
      draft.facts.cpus = n;
    else if (key == "RealMemory" && parse_bytes(value, 1024 * 1024, n))
      draft.facts.memory = n;
    else if (key == "Gres" && value != "(null)")
      draft.facts.gpus = gpus_of_gres(value).count;
    else if (key == "Partitions")
      for (const std::string_view p : split(value, ',')) draft.partitions.emplace(p);
    else if (key == "CfgTRES" && !draft.facts.gpus)
      draft.facts.gpus = tres_count(value, "gres/gpu");
  }
  if (name.empty()) return fail(bad_line(number, "there is no NodeName="));
  drafts[{cluster, std::string(name)}] = std::move(draft);
  return {};
}

// `sinfo -M a,b` says "CLUSTER: a" before the lines of each.
std::optional<std::string> named_cluster(std::string_view line) {
  constexpr std::string_view kBefore = "CLUSTER: ";
  if (!line.starts_with(kBefore)) return std::nullopt;
  return std::string(trimmed(line.substr(kBefore.size())));
}

bool is_sinfo_header(std::string_view line) {
  const auto words = words_of(line);
  return std::any_of(words.begin(), words.end(),
                     [](std::string_view word) { return word == "NODELIST" || word == "HOSTNAMES"; });
}

// The lines behind a header; `next` is then the first that is of another cluster.
Status read_sinfo(const std::vector<std::string_view>& lines, std::size_t header, const std::string& told,
                  NodeDrafts& drafts, std::size_t& next) {
  const auto names = words_of(lines[header]);
  for (std::size_t i = header + 1;; ++i) {
    next = i;
    if (i == lines.size() || named_cluster(lines[i])) return {};
    if (lines[i].empty()) continue;
    const auto words = words_of(lines[i]);
    if (words.size() < names.size() - 1)  // the last column (REASON) may be empty
      return fail(
          bad_line(i, fmt::format("{} columns, where the header has {}", words.size(), names.size())));
    std::string name, cluster = told;
    std::optional<std::int64_t> cpus, memory, gpus;
    std::string partition;
    std::int64_t n = 0;
    for (std::size_t c = 0; c < std::min(names.size(), words.size()); ++c) {
      const auto column = names[c], word = words[c];
      if (column == "NODELIST" || column == "HOSTNAMES")
        name = word;
      else if (column == "CLUSTER")
        cluster = word;
      else if (column == "PARTITION")
        partition = word.ends_with('*') ? word.substr(0, word.size() - 1) : word;  // the default one
      else if (column == "CPUS" && parse_integer(word, n))
        cpus = n;
      else if (column == "MEMORY" && parse_bytes(word, 1024 * 1024, n))
        memory = n;
      else if (column == "GRES")
        gpus = word == "(null)" ? 0 : gpus_of_gres(word).count;
    }
    NodeDraft& draft = drafts[{cluster, name}];
    if (cpus) draft.facts.cpus = cpus;
    if (memory) draft.facts.memory = memory;
    if (gpus) draft.facts.gpus = gpus;
    if (!partition.empty()) draft.partitions.insert(partition);
  }
}

duck::Value value_of(const std::optional<std::int64_t>& n) { return n ? duck::Value(*n) : duck::Value(); }
duck::Value value_of(const std::string& text) { return text.empty() ? duck::Value() : duck::Value(text); }
duck::Value micros_of(const std::optional<std::int64_t>& seconds) {
  return seconds ? duck::Value(*seconds * 1'000'000) : duck::Value();
}

}  // namespace

Result<std::vector<NodeEvent>> parse_node_events(std::string_view text, const TimeZone& zone) {
  const auto lines = lines_of(text);
  if (lines.empty() || lines[0].find('|') == std::string_view::npos)
    return fail(Error(ErrorCode::bad_input,
                      "this is no output of 'sacctmgr show event -P': it has no header with '|'")
                    .remedied_by("make it with: sacctmgr -P show event start=2021-01-01 "
                                 "format=NodeName,TimeStart,TimeEnd,State,Reason,TRES"));
  const auto names = split(lines[0], '|');
  const auto column = [&](std::initializer_list<std::string_view> known) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < names.size(); ++i)
      for (const std::string_view name : known)
        if (equal_ignoring_case(names[i], name)) return i;
    return {};
  };
  const auto cluster = column({"Cluster"}), node = column({"NodeName"}),
             begins = column({"TimeStart", "Start"}), ends = column({"TimeEnd", "End"}),
             state = column({"State"}), reason = column({"Reason"}), tres = column({"TRES"}),
             cpus = column({"CPUCount", "CPUs"});
  if (!node || !begins || !state)
    return fail(Error(ErrorCode::bad_input, "the events have no column NodeName, TimeStart or State")
                    .remedied_by("ask for them: format=NodeName,TimeStart,TimeEnd,State,Reason,TRES"));
  std::vector<NodeEvent> events;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const auto parts = split(lines[i], '|');
    const auto at = [&](const std::optional<std::size_t>& c) {
      return c && *c < parts.size() ? parts[*c] : std::string_view();
    };
    if (at(node).empty()) continue;  // of the cluster: registrations of its total
    NodeEvent event;
    event.cluster = at(cluster);
    event.node = at(node);
    event.state = at(state);
    event.reason = at(reason);
    if (!parse_timestamp(at(begins), zone, event.begins))
      return fail(bad_line(i, quote_for_message(at(begins)) + " is no time (TimeStart)"));
    if (std::int64_t end = 0; !is_absent(at(ends))) {
      if (!parse_timestamp(at(ends), zone, end))
        return fail(bad_line(i, quote_for_message(at(ends)) + " is no time (TimeEnd)"));
      event.ends = end;
    }
    event.cpus = tres_count(at(tres), "cpu");
    if (std::int64_t n = 0; !event.cpus && parse_integer(at(cpus), n)) event.cpus = n;
    events.push_back(std::move(event));
  }
  return events;
}

Result<std::vector<NodeFacts>> parse_nodes(std::string_view text) {
  const auto lines = lines_of(text);
  NodeDrafts drafts;
  std::string cluster;
  bool may_be_date = true;  // `sinfo -N -l` tells it first, and behind the name of each cluster
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i].empty()) {
      ++i;
    } else if (auto named = named_cluster(lines[i])) {
      cluster = std::move(*named);
      may_be_date = true;
      ++i;
    } else if (is_sinfo_header(lines[i])) {
      if (auto read = read_sinfo(lines, i, cluster, drafts, i); !read) return fail(std::move(read.error()));
      may_be_date = false;
    } else if (may_be_date && !lines[i].starts_with("NodeName=")) {
      may_be_date = false;
      ++i;
    } else if (drafts.empty() && !lines[i].starts_with("NodeName=")) {
      break;
    } else {
      if (auto read = read_scontrol_line(lines[i], i, cluster, drafts); !read)
        return fail(std::move(read.error()));
      may_be_date = false;
      ++i;
    }
  }
  if (drafts.empty())
    return fail(Error(ErrorCode::bad_input, "there are no nodes in it")
                    .remedied_by("make it with: scontrol show node -o"));
  return finished(drafts);
}

Result<NodeImport> import_node_events(Store& store, const std::vector<NodeEvent>& events) {
  std::vector<std::vector<duck::Value>> rows;
  for (const NodeEvent& e : events)
    rows.push_back({e.node, value_of(e.state), micros_of(e.begins), micros_of(e.ends), value_of(e.cpus),
                    value_of(e.reason), value_of(e.cluster)});
  // The same event: cluster, node, state and begin.  It changes when it ends, or when its CPUs become known.
  const std::string same =
      "o.node = i.node AND o.state IS NOT DISTINCT FROM i.state AND o.begins = i.begins AND o.cluster IS NOT "
      "DISTINCT FROM i.cluster";
  const std::string newer =
      "((o.ends IS NULL AND i.ends IS NOT NULL) OR (o.cpus IS NULL AND i.cpus IS NOT NULL))";
  const std::string none = "NOT EXISTS (SELECT 1 FROM node_events o WHERE " + same + ")";
  const BringIn how{
      "node_events",
      "SELECT count(*) FROM (SELECT DISTINCT node, state, begins, cluster FROM incoming_rows i WHERE " +
          none + ")",
      "SELECT count(*) FROM node_events o WHERE EXISTS (SELECT 1 FROM incoming_rows i WHERE " + same +
          " AND " + newer + ")",
      "UPDATE node_events AS o SET ends = coalesce(o.ends, i.ends), cpus = coalesce(o.cpus, i.cpus) FROM "
      "(SELECT node, state, begins, cluster, max(ends) AS ends, max(cpus) AS cpus FROM incoming_rows GROUP "
      "BY "
      "ALL) i WHERE " +
          same + " AND " + newer +
          ";"
          "INSERT INTO node_events SELECT node, state, begins, max(ends), max(cpus), max(reason), cluster "
          "FROM "
          "incoming_rows i WHERE " +
          none + " GROUP BY node, state, begins, cluster"};
  return bring_in(store, how, std::move(rows));
}

Result<NodeImport> import_nodes(Store& store, const std::vector<NodeFacts>& nodes, const NodesSince& since) {
  std::vector<std::vector<duck::Value>> rows;
  for (const NodeFacts& n : nodes)
    rows.push_back({n.node, value_of(n.cpus), value_of(n.memory), value_of(n.gpus), value_of(n.partitions),
                    value_of(n.cluster), micros_of(since.at)});
  // What a node was at the date of the list: the row told last before it.
  const std::string same_node = "o.node = i.node AND o.cluster IS NOT DISTINCT FROM i.cluster";
  const std::string then =
      "(SELECT i.*, o.node IS NOT NULL AS there, o.cpus AS was_cpus, o.memory AS was_memory, o.gpus AS "
      "was_gpus, "
      "o.partitions AS was_partitions FROM incoming_rows i LEFT JOIN nodes o ON " +
      same_node +
      " AND coalesce(o.valid_from <= i.valid_from, true) QUALIFY row_number() OVER (PARTITION BY i.cluster, "
      "i.node ORDER BY o.valid_from DESC NULLS LAST) = 1)";
  const std::string known = "EXISTS (SELECT 1 FROM nodes o WHERE " + same_node + ")";
  const std::string differs =
      "(was_cpus IS DISTINCT FROM cpus OR was_memory IS DISTINCT FROM memory OR was_gpus IS DISTINCT FROM "
      "gpus OR "
      "was_partitions IS DISTINCT FROM partitions)";
  // Without a date that somebody said, the first list of a cluster holds for all time before it, too.
  const std::string first =
      since.said ? "false"
                 : "NOT EXISTS (SELECT 1 FROM nodes o WHERE o.cluster IS NOT DISTINCT FROM i.cluster)";
  const BringIn how{
      "nodes", "SELECT count(*) FROM incoming_rows i WHERE NOT " + known,
      "SELECT count(*) FROM " + then + " i WHERE " + known + " AND (NOT there OR " + differs + ")",
      "CREATE TEMP TABLE changed_nodes AS SELECT node, cpus, memory, gpus, partitions, cluster, CASE WHEN " +
          first + " THEN NULL ELSE valid_from END AS valid_from FROM " + then + " i WHERE NOT there OR " +
          differs +
          ";"
          "DELETE FROM nodes AS o USING changed_nodes i WHERE " +
          same_node +
          " AND o.valid_from IS NOT DISTINCT FROM i.valid_from;"
          "INSERT INTO nodes FROM changed_nodes; DROP TABLE changed_nodes"};
  return bring_in(store, how, std::move(rows));
}

}  // namespace sickbay::workload
