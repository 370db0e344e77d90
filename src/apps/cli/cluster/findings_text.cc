// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster/findings_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apps/cli/cluster/faults_text.h"
#include "apps/cli/event_text.h"
#include "base/hostlist.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

using enum TextTable::Column::Align;

TextTable::Cell result_cell(const Json& finding) {
  return TextTable::Cell(safe(finding["result"]), finding["result"].as_string() == "fault" ? kBad : kUnclear);
}

std::string stamp(const Json& at) { return local_time(from_micros(at.as_int())); }

// Of each rule and result: how many nodes, which, and since when.
Json by_rule(const std::vector<Json>& all) {
  std::map<std::pair<std::string, std::string>, std::vector<const Json*>> rules;
  for (const Json& one : all) rules[{one["rule"].as_string(), one["result"].as_string()}].push_back(&one);
  std::vector<Json> rows;
  for (const auto& [rule, findings] : rules) {
    std::vector<std::string> nodes;
    std::int64_t oldest = (*findings.front())["since"].as_int(), newest = oldest;
    for (const Json* one : findings) {
      nodes.push_back((*one)["node"].as_string());
      oldest = std::min(oldest, (*one)["since"].as_int());
      newest = std::max(newest, (*one)["since"].as_int());
    }
    rows.push_back(Json::object({{"rule", rule.first},
                                 {"result", rule.second},
                                 {"nodes", compress_hostlist(nodes)},
                                 {"count", nodes.size()},
                                 {"oldest", oldest},
                                 {"newest", newest},
                                 {"text", (*findings.front())["text"]}}));
  }
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const Json& row) { return row["count"].as_int(); });
  return Json(std::move(rows));
}

}  // namespace

std::string findings_count(const Json& node) {
  std::size_t faults = 0, unknown = 0;
  for (const Json& one : node["findings"].items())
    ++(one["result"].as_string() == "fault" ? faults : unknown);
  std::string text;
  if (faults > 0) text = fmt::format("{} fault{}", faults, faults == 1 ? "" : "s");
  if (unknown > 0) text += fmt::format("{}{} unknown", text.empty() ? "" : ", ", unknown);
  return text;
}

Json standing_findings(const Json& items, FindingsOrder order) {
  std::vector<Json> all;
  for (const Json& node : items.items()) {
    for (Json one : node["findings"].items()) {
      one.set("node", node["name"]);
      all.push_back(std::move(one));
    }
    // What it lacks of what its likes have is found by comparing, without an agent's rule.
    for (const Json& odd : node["odd"].items())
      if (odd["severity"].as_string() != "info")
        all.push_back(Json::object({{"node", node["name"]},
                                    {"finding", ""},
                                    {"rule", "fleet/" + odd["fact"].as_string()},
                                    {"result", "odd"},
                                    {"action", odd["severity"].as_string() == "drain" ? "drain" : "none"},
                                    {"text", odd["text"]},
                                    {"since", odd["since"]}}));
  }
  if (order == FindingsOrder::by_rule) return by_rule(all);
  std::ranges::stable_sort(all, {}, [&](const Json& one) {
    return order == FindingsOrder::oldest ? one["since"].as_int() : -one["since"].as_int();
  });
  return Json(std::move(all));
}

std::string findings_text(const Json& findings, FindingsOrder order, const TextPage& page) {
  if (findings.size() == 0) return "Nothing stands that agents found, or that tells a node from its likes.\n";
  if (order == FindingsOrder::by_rule) {
    TextTable table({{"NODES", right},
                     {"RULE"},
                     {"RESULT"},
                     {"OLDEST"},
                     {"NEWEST"},
                     {"WHICH", left, true},
                     {"TEXT", left, true}});
    for (const Json& row : findings.items())
      table.add({std::to_string(row["count"].as_int()), safe(row["rule"]), result_cell(row),
                 stamp(row["oldest"]), stamp(row["newest"]), safe(row["nodes"]), safe(row["text"])});
    return table.text({.width = page.width, .colours = page.colours});
  }
  TextTable table({{"SINCE"}, {"NODE"}, {"FINDING"}, {"RULE"}, {"RESULT"}, {"ACTION"}, {"TEXT", left, true}});
  for (const Json& one : findings.items())
    table.add({stamp(one["since"]), safe(one["node"]), safe(one["finding"]), safe(one["rule"]),
               result_cell(one), one["action"].as_string() == "none" ? "" : safe(one["action"]),
               safe(one["text"])});
  return table.text({.width = page.width, .colours = page.colours});
}

namespace {

std::string jobs_text(const Result<Json>& jobs, const TextPage& page) {
  if (!jobs) return paragraph("", "could not be asked for: " + for_terminal(jobs.error().line()), page);
  if (jobs->size() == 0) return "none\n";
  TextTable table({{"JOB"}, {"USER"}, {"STATE"}, {"TIME", right}, {"LIMIT", right}, {"NAME", left, true}});
  for (const Json& job : jobs->items())
    table.add({safe(job["job"]), safe(job["user"]), safe(job["state"]), safe(job["time"]), safe(job["limit"]),
               safe(job["name"])});
  return table.text({.width = page.width, .colours = page.colours});
}

// Whether an active check of it waits for leave (diagnose.active_at_once), or runs.
std::string active_text(const Json& active, const TextPage& page) {
  if (active.is_null()) return "";
  const std::string& state = active["state"].as_string();
  const std::string others = fmt::format("{} of {} nodes have it, {} wait", active["holding"].as_int(),
                                         active["at_once"].as_int(), active["waiting"].as_int());
  const std::string since = since_text(active["since"], page.now);
  if (state == "holds") return paragraph("", "it has leave for active checks" + since, page);
  if (state == "later")
    return paragraph("", "an active check waits" + since + " for a moment in which it could run", page);
  return paragraph("", "an active check waits for leave" + since + ": " + others, page);
}

}  // namespace

std::string node_text(const Json& node, const NodeMore& more, const TextPage& page) {
  std::string text = heading("Findings", page);
  if (node["findings"].size() == 0) text += "none stands\n";
  for (const Json& one : node["findings"].items())
    text += paragraph("",
                      fmt::format("{} {}: {}{}: {}", safe(one["finding"]), safe(one["rule"]),
                                  safe(one["result"]), since_text(one["since"], page.now), safe(one["text"])),
                      page);
  text += heading("Jobs", page);
  text += jobs_text(more.jobs, page);
  text += heading("Repairs", page);
  text += more.faults
              ? repairs_text((*more.faults)["repairs"], page)
              : paragraph("", "could not be asked for: " + for_terminal(more.faults.error().line()), page);
  if (const Json rows = more.faults ? counted_faults((*more.faults)["items"], {}, FaultsBy::all) : Json();
      rows.size() > 0) {
    text += heading("Faults by month", page);
    text += faults_text(rows, FaultsBy::all, page);
  }
  text += heading("Agent", page);
  const Json& agent = node["agent"];
  if (agent.is_null()) {
    text += "none was ever heard of\n";
  } else {
    text += fmt::format("version {}, {}, in the {} mode{}\n", safe(agent["version"]),
                        agent["present"].as_bool()  ? "present"
                        : agent["silent"].as_bool() ? painted("silent", kBad, page.colours)
                                                    : "not heard of since sickbayd started",
                        safe(agent["mode"]),
                        agent["seen"].as_int() > 0 ? ", last heard " + stamp(agent["seen"]) : "");
    text += active_text(agent["active"], page);
    for (const auto& [name, digest] : agent["digests"].members())
      text += fmt::format("  rules {} {}\n", for_terminal(name), safe(digest));
  }
  text += heading("Last events", page);
  if (more.history.empty()) text += "none\n";
  for (const Event& event : more.history) text += event_line(event, page);
  return text;
}

}  // namespace sickbay::cli
