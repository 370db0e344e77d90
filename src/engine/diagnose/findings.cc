// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/diagnose/truth.h"
#include "model/builtin_operations.h"

namespace sickbay::diagnose {
namespace {

// Builtins that ask sickbayd to act; every other operation acts by itself.
constexpr std::string_view kActions[] = {"drain", "notify", "restart", "reboot", "power_off"};
constexpr std::string_view kResults[] = {"ok", "fault", "unknown"};
constexpr std::size_t kMostWords = 256;  // bytes of one input, in the text of a finding

std::string action_of(const OperationSpec& o) {
  constexpr std::string_view kBuiltin = "builtin:";
  if (!o.run.starts_with(kBuiltin)) return "none";
  const std::string name = o.run.substr(kBuiltin.size());
  return std::ranges::find(kActions, name) != std::end(kActions) ? name : "none";
}

// What is to be restarted.  Where nobody can know (lint says so), the fault is told, and that is all.
void name_component(Finding& f, const OperationSpec& o, const Json& inputs) {
  const auto arguments = builtin_arguments(*builtin_operation(f.action), o.arguments, inputs);
  if (arguments) {
    f.component = (*arguments)["component"].as_string();
    f.fault_class = (*arguments)["class"].as_string();
  }
  if (f.component.empty()) {
    f.action = "notify";
    f.to = "operator";
  }
}

}  // namespace

std::optional<Finding> finding_of(const Run& run, InstanceId id) {
  const Instance& instance = run.instances[id];
  const Specification& s = run.rules->specification;
  const OperationSpec& o = s.operations[instance.operation];
  const ProductionSpec& p = s.productions[instance.production];
  // (One that was refused asks for nothing, whatever its kind.)
  const bool critical = o.kind == OperationKind::critical && !instance.refused;
  const bool unknown = instance.state == Instance::State::ended &&
                       (instance.result == OperationEnd::Result::unknown || !instance.lacks.empty()) &&
                       !run.stopped;
  if (critical ? !instance.started : !unknown) return std::nullopt;
  Finding f;
  f.specification = s.name;
  f.rule = p.name;
  f.components = o.components;
  f.values = instance.values;
  if (!critical) {
    f.result = OperationEnd::Result::unknown;
    f.action = "none";
    f.for_a_job = instance.gave_way && run.rules->operations[instance.operation].needs_idle;
    f.text = instance.refused ? fmt::format("{} was {}", o.name, instance.text)
             : !instance.lacks.empty()
                 ? instance.lacks
                 : fmt::format("{} could not be told: {}", o.name,
                               instance.text.empty() ? "no reason was given" : instance.text);
    return f;
  }
  f.action = action_of(o);
  if (f.action == "notify") f.to = o.arguments["to"].as_string_or("operator");
  const Condition& c = s.predicates[run.rules->productions[instance.production].condition];
  f.text = fmt::format("{}: {}", c.description, o.description);
  const Json inputs = values_of(*run.rules, run.rules->operations[instance.operation].inputs, run.facts);
  // What it is given in words says what was found: the part, the user.
  std::string words;
  for (const auto& [name, value] : inputs.members()) {
    f.values.set(name, value);
    if (!value.as_string().empty())
      words += (words.empty() ? "" : "; ") + value.as_string().substr(0, kMostWords);
  }
  if (!words.empty()) f.text += fmt::format(" ({})", words);
  if (f.action == "restart") name_component(f, o, inputs);
  return f;
}

std::vector<Finding> unknown_predicates(const Run& run) {
  std::vector<Finding> findings;
  const Specification& s = run.rules->specification;
  if (run.stopped) return findings;
  for (const auto& [c, why] : run.failed_predicates) {
    const auto& productions = run.rules->conditions[c].productions;
    if (productions.empty()) continue;
    Finding f;
    f.specification = s.name;
    f.rule = s.productions[productions.front()].name;
    f.result = OperationEnd::Result::unknown;
    f.action = "none";
    f.text = fmt::format("{} could not be told: {}", s.predicates[c].name, why);
    f.values = values_of(*run.rules, run.rules->conditions[c].characteristics, run.facts);
    findings.push_back(std::move(f));
  }
  return findings;
}

std::map<std::string, int> unknown_runs_of(const Run& run) {
  std::map<std::string, int> runs;
  for (const auto& [o, count] : run.unknown_runs) runs[run.rules->specification.operations[o].name] = count;
  return runs;
}

std::vector<Finding> findings_of(const Run& run) {
  std::vector<Finding> findings;
  for (InstanceId id = 0; id < run.instances.size(); ++id)
    if (auto finding = finding_of(run, id)) findings.push_back(std::move(*finding));
  return findings;
}

Json to_json(const Finding& f) {
  Json json = Json::object({{"specification", f.specification},
                            {"rule", f.rule},
                            {"result", kResults[static_cast<std::size_t>(f.result)]},
                            {"action", f.action},
                            {"to", f.to},
                            {"components", Json(f.components)},
                            {"text", f.text},
                            {"values", f.values}});
  if (f.action == "restart") json.set("component", f.component).set("class", f.fault_class);
  return json;
}

std::map<std::string, int> spent_budgets(const Specification& specification,
                                         const std::vector<RepairRun>& runs, TimePoint now) {
  std::map<std::string, int> spent;
  for (const OperationSpec& o : specification.operations) {
    if (!o.budget) continue;
    spent[o.name] = static_cast<int>(std::ranges::count_if(
        runs, [&](const RepairRun& r) { return r.operation == o.name && r.at > now - o.budget->window; }));
  }
  return spent;
}

RepairRun repair_of(const Run& run, InstanceId instance) {
  const Specification& s = run.rules->specification;
  const Instance& i = run.instances[instance];
  return {s.operations[i.operation].name, i.started_at, s.productions[i.production].name};
}

std::vector<RepairRun> repairs_of(const Run& run) {
  std::vector<RepairRun> repairs;
  for (InstanceId id = 0; id < run.instances.size(); ++id) {
    const Instance& i = run.instances[id];
    if (run.rules->operations[i.operation].repairs && i.started) repairs.push_back(repair_of(run, id));
  }
  return repairs;
}

}  // namespace sickbay::diagnose
