// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster/faults_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "apps/cli/event_text.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

using enum TextTable::Column::Align;

std::int64_t repairs_of(const Json& row, std::string_view result) { return row["repairs"][result].as_int(); }

struct Sum {
  std::int64_t faults = 0, sick = 0, ok = 0, failed = 0, unknown = 0, standing = 0;
  std::vector<std::string> nodes, rules;
};

}  // namespace

Json counted_faults(const Json& items, const std::vector<std::string>& nodes, FaultsBy by) {
  std::map<std::tuple<std::string, std::string, std::string>, Sum> sums;
  for (const Json& row : items.items()) {
    const std::string &node = row["node"].as_string(), &rule = row["rule"].as_string();
    if (!nodes.empty() && std::ranges::find(nodes, node) == nodes.end()) continue;
    Sum& sum =
        sums[{row["month"].as_string(), by == FaultsBy::rule ? "" : node, by == FaultsBy::node ? "" : rule}];
    sum.faults += row["faults"].as_int();
    sum.sick += row["sick_s"].as_int();
    sum.ok += repairs_of(row, "ok");
    sum.failed += repairs_of(row, "fault");
    sum.unknown += repairs_of(row, "unknown");
    sum.standing += row["stands"].as_bool();
    sum.nodes.push_back(node);
    sum.rules.push_back(rule);
  }
  std::vector<Json> rows;
  for (auto& [key, sum] : sums)
    rows.push_back(Json::object(
        {{"month", std::get<0>(key)},
         {"nodes", compress_hostlist(sorted_hosts(std::move(sum.nodes)))},
         {"rule", std::get<2>(key)},
         {"rules", sum.rules.size()},
         {"faults", sum.faults},
         {"standing", sum.standing},
         {"sick_s", sum.sick},
         {"repairs", Json::object({{"ok", sum.ok}, {"fault", sum.failed}, {"unknown", sum.unknown}})}}));
  // The newest month first; in it what happened most.
  std::ranges::stable_sort(rows, [](const Json& a, const Json& b) {
    if (a["month"].as_string() != b["month"].as_string())
      return a["month"].as_string() > b["month"].as_string();
    return a["faults"].as_int() > b["faults"].as_int();
  });
  return Json(std::move(rows));
}

std::string faults_text(const Json& rows, FaultsBy by, const TextPage& page) {
  if (rows.size() == 0) return "No fault and no repair is in the journal.\n";
  TextTable table({{"MONTH"},
                   {by == FaultsBy::node ? "RULES" : "RULE"},
                   {"FAULTS", right},
                   {"STANDING", right},
                   {"SICK FOR", right},
                   {"REPAIRED", right},
                   {"IN VAIN", right},
                   {"UNKNOWN", right},
                   {by == FaultsBy::rule ? "NODES" : "NODE", left, true}});
  for (const Json& row : rows.items())
    table.add({safe(row["month"]),
               by == FaultsBy::node ? std::to_string(row["rules"].as_int()) : safe(row["rule"]),
               std::to_string(row["faults"].as_int()), std::to_string(row["standing"].as_int()),
               describe_duration(std::chrono::seconds(row["sick_s"].as_int())),
               std::to_string(repairs_of(row, "ok")), std::to_string(repairs_of(row, "fault")),
               std::to_string(repairs_of(row, "unknown")), safe(row["nodes"])});
  return table.text({.width = page.width, .colours = page.colours});
}

std::string repairs_text(const Json& repairs, const TextPage& page) {
  if (repairs.size() == 0) return "none\n";
  std::string text;
  for (const Json& one : repairs.items()) {
    const std::string& result = one["result"].as_string();
    const std::string said = safe(one["text"]);
    text += paragraph("",
                      fmt::format("{} {} ({}): {}{}{}", local_time(from_micros(one["at"].as_int())),
                                  safe(one["operation"]), safe(one["rule"]),
                                  result == "ok"      ? "done"
                                  : result == "fault" ? "in vain"
                                                      : "unknown",
                                  said.empty() ? "" : ": ", said),
                      page);
  }
  return text;
}

}  // namespace sickbay::cli
