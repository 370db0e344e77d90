// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster/diagnosis_text.h"

#include <fmt/format.h>

#include "base/text_table.h"

namespace sickbay::cli {
namespace {

std::string milliseconds(std::int64_t us) { return fmt::format("{:.1f} ms", static_cast<double>(us) / 1000); }

std::string_view colour_of(const std::string& result) {
  return result == "fault" ? "31" : result == "unknown" ? "33" : "";
}

std::string run_text(const Json& run, bool explain, const TextPage& page) {
  std::string text =
      painted(fmt::format("{} ({})", safe(run["specification"]), safe(run["mode"])), "1", page.colours);
  text += fmt::format(": {}{} of wall time, {} of CPU time\n", run["whole"].as_bool() ? "" : "NOT WHOLE, ",
                      milliseconds(run["wall_us"].as_int()), milliseconds(run["cpu_us"].as_int()));
  for (const Json& finding : run["findings"].items()) {
    const std::string& result = finding["result"].as_string();
    text +=
        paragraph("  ",
                  fmt::format("{} {}: {}{}", result, finding["rule"].as_string(), finding["text"].as_string(),
                              finding["action"].as_string() == "none"
                                  ? ""
                                  : fmt::format(" [asks for: {}{}]", finding["action"].as_string(),
                                                finding["component"].as_string().empty()
                                                    ? ""
                                                    : " of " + finding["component"].as_string())),
                  page);
  }
  if (run["findings"].size() == 0) text += "  nothing found\n";

  TextTable journal({{"step", TextTable::Column::Align::right}, {"kind"}, {"name"}, {"text", {}, true}});
  for (const Json& line : run["journal"].items())
    journal.add(
        {std::to_string(line["step"].as_int()), safe(line["kind"]), safe(line["name"]), safe(line["text"])});
  if (!journal.empty()) text += "\n  journal\n" + journal.text({page.width, page.colours, 2, true});

  TextTable operations(
      {{"operation"}, {"result"}, {"time", TextTable::Column::Align::right}, {"says", {}, true}});
  for (const Json& line : run["operations"].items())
    operations.add({safe(line["operation"]),
                    {safe(line["result"]), colour_of(line["result"].as_string())},
                    milliseconds(line["wall_us"].as_int()),
                    safe(line["text"])});
  if (!operations.empty()) text += "\n  operations\n" + operations.text({page.width, page.colours, 2, true});

  TextTable values({{"characteristic"}, {"value", {}, true}});
  for (const auto& [name, value] : run["values"].members())
    values.add({for_terminal(name), value.is_null() ? std::string("unknown") : safe(value)});
  if (!values.empty()) text += "\n  values\n" + values.text({page.width, page.colours, 2, true});

  if (explain) {
    TextTable why({{"production"}, {"operation"}, {"why", {}, true}});
    for (const Json& line : run["productions"].items())
      why.add({safe(line["production"]), safe(line["operation"]), safe(line["text"])});
    if (!why.empty()) text += "\n  productions\n" + why.text({page.width, page.colours, 2, true});
  }
  return text;
}

}  // namespace

int diagnosis_exit_code(const Json& task) {
  const std::string& outcome = task["outcome"].as_string();
  if (outcome == "fault") return kExitFault;
  if (outcome != "passed") return kExitNotWhole;
  return task["summary"]["unknown"].as_int() > 0 ? kExitUnknown : 0;
}

std::string diagnosis_text(const Json& task, bool explain, const TextPage& page) {
  const Json& summary = task["summary"];
  const std::string node = safe(task["node"]);
  std::string text;
  switch (diagnosis_exit_code(task)) {
    case 0:
      text = fmt::format("Nothing is wrong with {}, as far as its rules can see.\n", node);
      break;
    case kExitFault:
      text = fmt::format("{} has {} fault{}.\n", node, summary["faults"].as_int(),
                         summary["faults"].as_int() == 1 ? "" : "s");
      break;
    case kExitUnknown:
      text =
          fmt::format("No fault was found on {}; {} could not be told.\n", node, summary["unknown"].as_int());
      break;
    default: {
      const std::string why = safe(summary["error"]["what"].is_null() ? Json("") : summary["error"]["what"]);
      text = fmt::format("The diagnosis of {} did not come to its end{}{}.\n", node, why.empty() ? "" : ": ",
                         why);
    }
  }
  if (task["result"].is_null() && task["outcome"].as_string() != "expired" &&
      task["outcome"].as_string() != "abandoned")
    text += "Its details are no longer in sickbayd's memory; the agent's own journal on the node has them.\n";
  for (const Json& run : task["result"]["runs"].items()) text += "\n" + run_text(run, explain, page);
  return text;
}

}  // namespace sickbay::cli
