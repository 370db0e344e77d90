// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/trigger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sickbay::cli {
namespace {

// Words of a run's outcome (engine/identify/case.h) with which it is over.  A
// preempted or requeued one may come back.
struct EndRow {
  std::string_view outcome;
  bool is_failure;
};
constexpr auto kEnds = std::to_array<EndRow>({
    {"ok", false},
    {"failed", true},
    {"cancelled", false},
    {"out_of_memory", true},
    {"deadline", true},
    {"lost", true},
    {"not_started", true},
});

const Json* run_of(const Json& view, std::string_view run) {
  for (const Json& one : view["runs"].items())
    if (one["run"].as_string() == run) return &one;
  return nullptr;
}

}  // namespace

const std::vector<std::pair<std::string, TriggerEvent>>& trigger_events() {
  static const std::vector<std::pair<std::string, TriggerEvent>> kEvents = {
      {"finish", TriggerEvent::finish},
      {"fail", TriggerEvent::fail},
      {"timeout", TriggerEvent::timeout},
      {"node-fail", TriggerEvent::node_fail},
  };
  return kEvents;
}

Triggered triggered(const Json& view, std::string_view name, TriggerEvent event) {
  const Json* run = run_of(view, name);
  const bool closed = view["state"].as_string() == "closed";
  // A run that is not there may still be submitted, as long as its case is open.
  if (run == nullptr) return closed ? Triggered::missed : Triggered::waits;
  const bool lost_node =
      !(*run)["down_nodes"].as_string().empty() || (*run)["symptom"].as_string() == "node_dead";
  // Also while it runs: a job that may lose nodes goes on.
  if (event == TriggerEvent::node_fail && lost_node) return Triggered::came;
  const auto end = std::ranges::find(kEnds, (*run)["outcome"].as_string(), &EndRow::outcome);
  if (end == kEnds.end()) return closed ? Triggered::missed : Triggered::waits;
  const bool came = event == TriggerEvent::finish || (event == TriggerEvent::fail && end->is_failure) ||
                    (event == TriggerEvent::timeout && (*run)["symptom"].as_string() == "stall");
  return came ? Triggered::came : Triggered::missed;
}

std::vector<std::string> trigger_environment(const Json& view, std::string_view name,
                                             std::string_view event) {
  const Json* run = run_of(view, name);
  const auto text = [&](std::string_view member) { return run ? (*run)[member].as_string() : std::string(); };
  const auto number = [&](std::string_view member) {
    return run ? std::to_string((*run)[member].as_int()) : std::string();
  };
  return {"SICKBAY_CASE=" + view["case"].as_string(), "SICKBAY_JOB=" + number("job_id"),
          fmt::format("SICKBAY_RUN={}", name),        fmt::format("SICKBAY_EVENT={}", event),
          "SICKBAY_OUTCOME=" + text("outcome"),       "SICKBAY_SYMPTOM=" + text("symptom"),
          "SICKBAY_STATE=" + text("state"),           "SICKBAY_EXIT_CODE=" + number("exit_code"),
          "SICKBAY_NODES=" + text("nodes"),           "SICKBAY_DOWN_NODES=" + text("down_nodes")};
}

}  // namespace sickbay::cli
