// SPDX-License-Identifier: Apache-2.0
#include "workload/import/node_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

std::vector<NodeFacts> finished(std::map<std::string, NodeDraft>& drafts) {
  std::vector<NodeFacts> nodes;
  for (auto& [name, draft] : drafts) {
    draft.facts.node = name;
    draft.facts.partitions = sorted_list(draft.partitions);
    nodes.push_back(std::move(draft.facts));
  }
  return nodes;
}

// One line of `scontrol show node -o`: KEY=VALUE words.
Status read_scontrol_line(std::string_view line, std::size_t number,
                          std::map<std::string, NodeDraft>& drafts) {
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
  drafts[std::string(name)] = std::move(draft);
  return {};
}

Status read_sinfo(const std::vector<std::string_view>& lines, std::size_t header,
                  std::map<std::string, NodeDraft>& drafts) {
  const auto names = words_of(lines[header]);
  for (std::size_t i = header + 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const auto words = words_of(lines[i]);
    if (words.size() < names.size() - 1)  // the last column (REASON) may be empty
      return fail(
          bad_line(i, fmt::format("{} columns, where the header has {}", words.size(), names.size())));
    std::string name;
    std::optional<std::int64_t> cpus, memory, gpus;
    std::string partition;
    std::int64_t n = 0;
    for (std::size_t c = 0; c < std::min(names.size(), words.size()); ++c) {
      const auto column = names[c], word = words[c];
      if (column == "NODELIST" || column == "HOSTNAMES")
        name = word;
      else if (column == "PARTITION")
        partition = word.ends_with('*') ? word.substr(0, word.size() - 1) : word;  // the default one
      else if (column == "CPUS" && parse_integer(word, n))
        cpus = n;
      else if (column == "MEMORY" && parse_bytes(word, 1024 * 1024, n))
        memory = n;
      else if (column == "GRES")
        gpus = word == "(null)" ? 0 : gpus_of_gres(word).count;
    }
    NodeDraft& draft = drafts[name];
    if (cpus) draft.facts.cpus = cpus;
    if (memory) draft.facts.memory = memory;
    if (gpus) draft.facts.gpus = gpus;
    if (!partition.empty()) draft.partitions.insert(partition);
  }
  return {};
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
  const auto node = column({"NodeName"}), begins = column({"TimeStart", "Start"}),
             ends = column({"TimeEnd", "End"}), state = column({"State"}), reason = column({"Reason"}),
             tres = column({"TRES"}), cpus = column({"CPUCount", "CPUs"});
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
  std::map<std::string, NodeDraft> drafts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    if (lines[i].starts_with("NODELIST") || lines[i].starts_with("HOSTNAMES")) {
      if (auto read = read_sinfo(lines, i, drafts); !read) return fail(std::move(read.error()));
      return finished(drafts);
    }
    if (drafts.empty() && !lines[i].starts_with("NodeName=")) {
      if (i == 0) continue;  // `sinfo -N -l` tells the date first
      break;
    }
    if (auto read = read_scontrol_line(lines[i], i, drafts); !read) return fail(std::move(read.error()));
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
                    value_of(e.reason)});
  // The same event: node, state and begin.  It changes when it ends, or when its CPUs become known.
  const std::string same = "o.node = i.node AND o.state IS NOT DISTINCT FROM i.state AND o.begins = i.begins";
  const std::string newer =
      "((o.ends IS NULL AND i.ends IS NOT NULL) OR (o.cpus IS NULL AND i.cpus IS NOT NULL))";
  const BringIn how{
      "node_events",
      "SELECT count(*) FROM (SELECT DISTINCT node, state, begins FROM incoming_rows i WHERE NOT EXISTS "
      "(SELECT 1 FROM "
      "node_events o WHERE " +
          same + "))",
      "SELECT count(*) FROM node_events o WHERE EXISTS (SELECT 1 FROM incoming_rows i WHERE " + same +
          " AND " + newer + ")",
      "UPDATE node_events AS o SET ends = coalesce(o.ends, i.ends), cpus = coalesce(o.cpus, i.cpus) FROM "
      "(SELECT node, state, begins, max(ends) AS ends, max(cpus) AS cpus FROM incoming_rows GROUP BY ALL) i "
      "WHERE " +
          same + " AND " + newer +
          ";"
          "INSERT INTO node_events SELECT node, state, begins, max(ends), max(cpus), max(reason) FROM "
          "incoming_rows i "
          "WHERE NOT EXISTS (SELECT 1 FROM node_events o WHERE " +
          same + ") GROUP BY node, state, begins"};
  return bring_in(store, how, std::move(rows));
}

Result<NodeImport> import_nodes(Store& store, const std::vector<NodeFacts>& nodes) {
  std::vector<std::vector<duck::Value>> rows;
  for (const NodeFacts& n : nodes)
    rows.push_back({n.node, value_of(n.cpus), value_of(n.memory), value_of(n.gpus), value_of(n.partitions)});
  const std::string differs =
      "(o.cpus IS DISTINCT FROM i.cpus OR o.memory IS DISTINCT FROM i.memory OR o.gpus IS DISTINCT FROM "
      "i.gpus OR "
      "o.partitions IS DISTINCT FROM i.partitions)";
  const BringIn how{
      "nodes",
      "SELECT count(*) FROM incoming_rows i WHERE NOT EXISTS (SELECT 1 FROM nodes o WHERE o.node = i.node)",
      "SELECT count(*) FROM nodes o JOIN incoming_rows i ON o.node = i.node WHERE " + differs,
      "DELETE FROM nodes AS o USING incoming_rows i WHERE o.node = i.node AND " + differs +
          ";"
          "INSERT INTO nodes SELECT * FROM incoming_rows i WHERE NOT EXISTS "
          "(SELECT 1 FROM nodes o WHERE o.node = i.node)"};
  return bring_in(store, how, std::move(rows));
}

}  // namespace sickbay::workload
