// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster_text.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "base/size.h"
#include "base/spelling.h"
#include "base/text.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

constexpr std::string_view kGood = "32", kBad = "31", kUnclear = "33";

std::string safe(const Json& value) { return for_terminal(value.as_string()); }

std::string joined(const Json& words, std::string_view gap) {
  std::string text;
  for (const std::string& word : words.as_strings())
    text += (text.empty() ? "" : std::string(gap)) + for_terminal(word);
  return text;
}

std::string since_text(const Json& stamp, TimePoint now) {
  const TimePoint since = from_micros(stamp.as_int());
  if (since == kNoTime) return {};
  std::string text = " since " + local_time(since);
  if (now > since)
    text += fmt::format(" ({})", describe_duration(std::chrono::floor<std::chrono::seconds>(now - since)));
  return text;
}

}  // namespace

Result<Json> chosen_nodes(const Json& list, const std::vector<std::string>& wanted) {
  const Json::Array& items = list["items"].items();
  if (wanted.empty()) return Json(items);
  Json chosen = Json::array();
  for (const std::string& name : wanted) {
    const Json* found = nullptr;
    std::vector<std::string> known;
    for (const Json& item : items) {
      known.push_back(item["name"].as_string());
      if (known.back() == name) found = &item;
    }
    if (found == nullptr) {
      Error error(ErrorCode::not_found, fmt::format("there is no node {}", quote_for_message(name)));
      error.cause = fmt::format("slurmctld knows {} node{}, none of that name", known.size(),
                                known.size() == 1 ? "" : "s");
      const std::string meant = did_you_mean(name, known);
      error.remedy_text = meant.empty()
                              ? "'sickbay nodes' lists them"
                              : fmt::format("did you mean '{}'?  'sickbay nodes' lists them", meant);
      return fail(std::move(error));
    }
    chosen.push(*found);
  }
  return chosen;
}

std::string nodes_text(const Json& items, const TextPage& page) {
  using enum TextTable::Column::Align;
  TextTable table({{"NODE"},
                   {"STATE"},
                   {"CPUS", right},
                   {"PARTITIONS", left, true},
                   {"TAKES WORK"},
                   {"CASES", left, true},
                   {"REASON", left, true}});
  for (const Json& node : items.items()) {
    std::string state = safe(node["state"]);
    for (const std::string& flag : node["flags"].as_strings()) state += "+" + for_terminal(flag);
    const bool usable = node["usable"].as_bool();
    table.add({safe(node["name"]), TextTable::Cell(state, usable ? kGood : kBad),
               std::to_string(node["cpus"].as_int()), joined(node["partitions"], ","), usable ? "yes" : "no",
               joined(node["verdicts"], ","), safe(node["reason"])});
  }
  if (table.empty())
    return "sickbayd knows no nodes yet: it has not heard from slurmctld ('sickbay status').\n";
  return table.text({.width = page.width, .colours = page.colours});
}

bool status_is_good(const Json& status) {
  return status["journal"]["state"].as_string() == "ok" && status["slurm"]["state"].as_string() == "ok";
}

std::string status_text(const Json& status, const TextPage& page) {
  const Json &journal = status["journal"], &slurm = status["slurm"], &cases = status["cases"];
  const auto state = [&](const Json& word) {
    const std::string& text = word.as_string();
    return painted(for_terminal(text), text == "ok" ? kGood : text == "full" ? kUnclear : kBad, page.colours);
  };
  std::string text;
  text += fmt::format("sickbayd  {}, pid {}{}\n", safe(status["version"]), status["pid"].as_int(),
                      since_text(status["started"], page.now));
  text += fmt::format("journal   {}, {} events, {:.1f} MiB\n", state(journal["state"]),
                      journal["seq"].as_int(), static_cast<double>(journal["bytes"].as_int()) / (1 << 20));
  text += fmt::format("slurm     {}{}\n", state(slurm["state"]), since_text(slurm["since"], page.now));
  if (!slurm["error"].as_string().empty()) text += paragraph("          ", slurm["error"].as_string(), page);
  text += fmt::format("cases     {} open, {} closed\n", cases["open"].as_int(), cases["closed"].as_int());
  return text;
}

}  // namespace sickbay::cli
