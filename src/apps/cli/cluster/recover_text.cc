// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster/recover_text.h"

#include <fmt/format.h>

#include <cmath>

#include "apps/cli/answer.h"
#include "base/duration.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

std::string time_text(const Json& us, std::string_view unknown = "-") {
  if (!us.is_int()) return std::string(unknown);
  return describe_duration(Micros(us.as_int()));
}

std::string fault_text(const Json& fault) {
  const std::string component = safe(fault["component"]);
  if (const Json& job = fault["job"]; job["job_id"].is_int()) {
    const std::string node = safe(fault["node"]);
    return fmt::format("job {}{}", job["job_id"].as_int(), node.empty() ? "" : " on " + node);
  }
  return fmt::format("{}{}{}", safe(fault["node"]), component.empty() ? "" : "/", component);
}

// Where each level of a drawn tree begins.
std::string branch(const std::vector<bool>& last) {
  std::string text;
  for (std::size_t i = 0; i < last.size(); ++i)
    text += i + 1 < last.size() ? (last[i] ? "   " : "|  ") : (last[i] ? "`- " : "|- ");
  return text;
}

}  // namespace

std::string plan_text(const Json& plan, const TextPage& page) {
  const std::int64_t start = plan["start"].as_int(-1);
  TextTable table({{""},
                   {"RESTART"},
                   {"TAKES", TextTable::Column::Align::right},
                   {"CURES", TextTable::Column::Align::right},
                   {"", TextTable::Column::Align::left, true}});
  std::int64_t i = 0;
  for (const Json& cell : plan["path"].items()) {
    const std::string left = safe(cell["left_to_people"]);
    const bool first = i++ == start;
    table.add({first ? "1st" : "", TextTable::Cell(safe(cell["cell"]), first ? kGood : ""),
               time_text(cell["takes_us"]),
               fmt::format("{} %", std::lround(static_cast<double>(cell["cures_permille"].as_int()) / 10)),
               left.empty() ? "" : TextTable::Cell("people: " + left, kFaint)});
  }
  std::string text = table.empty() ? "" : table.text({.width = page.width, .colours = page.colours});
  if (start < 0) return text + paragraph("", "Nothing is restarted: " + safe(plan["refused"]) + ".", page);
  return text + fmt::format("The fault is expected to be gone after {}.\n", time_text(plan["expected_us"]));
}

std::string recovery_text(const Json& r, const TextPage& page) {
  std::string text =
      fmt::format("Recovery {} of {}, {}{}: {}.\n", safe(r["recovery"]), fault_text(r["fault"]),
                  safe(r["fault"]["source"]), since_text(r["opened_at"], page.now),
                  r["open"].as_bool() ? "open" : safe(r["outcome"]));
  if (const std::string what = safe(r["fault"]["text"]); !what.empty()) text += paragraph("  ", what, page);
  if (const std::string why = safe(r["why"]); !why.empty()) text += paragraph("  ", why, page);
  for (const Json& step : r["steps"].items())
    text += paragraph("  ",
                      fmt::format("{}. restart of {}: {}{}{}", step["step"].as_int(), safe(step["cell"]),
                                  step["ended_at"].is_null()    ? "under way"
                                  : step["cured"].as_bool()     ? "cured"
                                  : step["restarted"].as_bool() ? "not cured"
                                                                : "not restarted",
                                  step["took_us"].as_int() > 0 ? " after " + time_text(step["took_us"]) : "",
                                  step["said"].as_string().empty() ? "" : ": " + safe(step["said"])),
                      page);
  return text + "\n" + plan_text(r["plan"], page);
}

std::string recoveries_text(const Json& list, const TextPage& page) {
  const auto& items = list["items"].items();
  if (items.empty()) return "No recovery was asked for yet.\n";
  TextTable table({{"RECOVERY"},
                   {"OF"},
                   {"SINCE"},
                   {"RESTARTS", TextTable::Column::Align::right},
                   {"OUTCOME"},
                   {"WHY", TextTable::Column::Align::left, true}});
  for (auto it = items.rbegin(); it != items.rend(); ++it) {
    const Json& r = *it;
    const std::string outcome = r["open"].as_bool() ? "open" : safe(r["outcome"]);
    table.add({safe(r["recovery"]), fault_text(r["fault"]), since_text(r["opened_at"], page.now),
               std::to_string(r["steps"].size()),
               TextTable::Cell(outcome, outcome == "cured" ? kGood : kUnclear), safe(r["why"])});
  }
  return table.text({.width = page.width, .colours = page.colours});
}

std::string tree_text(const Json& tree, const TextPage& page) {
  const auto& cells = tree["cells"].items();
  std::vector<std::vector<std::size_t>> children(cells.size());
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const auto parent = static_cast<std::size_t>(cells[i]["parent"].as_int());
    if (parent != i && parent < cells.size()) children[parent].push_back(i);
  }
  TextTable table({{"CELL", TextTable::Column::Align::left, true},
                   {"FAILURES", TextTable::Column::Align::right},
                   {"MTTF", TextTable::Column::Align::right},
                   {"MTTR", TextTable::Column::Align::right},
                   {"RESTART", TextTable::Column::Align::right}});
  std::vector<bool> last;
  const auto add = [&](const auto& self, std::size_t i) -> void {
    const Json& cell = cells[i];
    table.add({branch(last) + safe(cell["cell"]), std::to_string(cell["failures"].as_int()),
               time_text(cell["mttf_us"]), time_text(cell["mttr_us"]),
               (cell["takes_us"].is_int() && !cell["measured"].as_bool() ? "~" : "") +
                   time_text(cell["takes_us"])});
    for (std::size_t k = 0; k < children[i].size(); ++k) {
      last.push_back(k + 1 == children[i].size());
      self(self, children[i][k]);
      last.pop_back();
    }
  };
  if (!cells.empty()) add(add, 0);
  std::string text = table.empty() ? "" : table.text({.width = page.width, .colours = page.colours});
  for (const Json& fault : tree["faults"].items()) text += paragraph("", safe(fault), page);
  return text;
}

}  // namespace sickbay::cli
