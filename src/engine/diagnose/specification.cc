// SPDX-License-Identifier: Apache-2.0
// A specification as text: its canonical JSON, its digest; and the choice of a period.
#include "engine/diagnose/specification.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/fnv.h"
#include "base/size.h"
#include "model/builtin_operations.h"
#include "model/diagnosis_mode.h"

namespace sickbay::diagnose {
namespace {

constexpr std::string_view kNodeUses[] = {"any", "idle", "busy", "maintenance"};

constexpr bool rows_follow_enum() {
  for (std::size_t i = 0; i < kOperationKinds.size(); ++i)
    if (static_cast<std::size_t>(kOperationKinds[i].kind) != i) return false;
  return true;
}
static_assert(rows_follow_enum(), "one row per OperationKind, in its order");

std::string time_of_day(std::chrono::minutes t) {
  return fmt::format("{:02}:{:02}", t.count() / 60, t.count() % 60);
}

Json operation_json(const OperationSpec& o) {
  Json outputs = Json::object();
  for (const auto& [own, characteristic] : o.outputs) outputs.set(own, characteristic);
  Json json = Json::object({{"kind", to_string(o.kind)},
                            {"run", o.run},
                            {"components", Json(o.components)},
                            {"inputs", Json(o.inputs)},
                            {"outputs", std::move(outputs)},
                            {"arguments", o.arguments},
                            {"description", o.description},
                            {"timeout", format_duration(o.timeout)},
                            {"memory", format_size({o.memory})},
                            {"output", format_size({o.output})}});
  if (o.needs_idle) json.set("needs_idle", *o.needs_idle);
  if (o.active) json.set("active", *o.active);
  if (o.peer) json.set("peer", Json::object({{"runs", o.peer->runs}, {"node", o.peer->node}}));
  if (o.listens != 0) json.set("listens", o.listens);
  if (o.budget)
    json.set("budget",
             Json::object({{"runs", o.budget->runs}, {"window", format_duration(o.budget->window)}}));
  return json;
}

Json period_json(const Period& p) {
  Json initial = Json::object();
  for (const auto& [name, value] : p.initial) initial.set(name, sickbay::to_json(value));
  return Json::object({{"description", p.description},
                       {"from", time_of_day(p.from)},
                       {"to", time_of_day(p.to)},
                       {"node", to_string(p.node)},
                       {"every", format_duration(p.every)},
                       {"initial", std::move(initial)}});
}

// (Not with Json::set, which looks through all members for each.)
template <class T, class ToJson>
Json section(const std::vector<T>& entries, ToJson to_json_of) {
  Json::Object members;
  members.reserve(entries.size());
  for (const T& entry : entries) members.emplace_back(entry.name, to_json_of(entry));
  return Json(std::move(members));
}

// The row of what it runs; null for an executable.
const BuiltinOperation* builtin_of(const OperationSpec& o) {
  constexpr std::string_view kBuiltin = "builtin:";
  return o.run.starts_with(kBuiltin) ? builtin_operation(std::string_view(o.run).substr(kBuiltin.size()))
                                     : nullptr;
}

}  // namespace

bool repairs(const OperationSpec& o) {
  const BuiltinOperation* builtin = builtin_of(o);
  return o.kind == OperationKind::repair ||
         (builtin != nullptr && builtin->kind == to_string(OperationKind::repair));
}

bool needs_idle(const OperationSpec& o) {
  if (o.needs_idle) return *o.needs_idle;
  const BuiltinOperation* builtin = builtin_of(o);
  return builtin != nullptr && builtin->stress;
}

bool is_active(const OperationSpec& o) {
  if (o.active) return *o.active;
  const BuiltinOperation* builtin = builtin_of(o);
  return needs_idle(o) || o.peer.has_value() || (builtin != nullptr && builtin->stress);
}

std::string Place::text() const { return fmt::format("{}:{}:{}", file, line, column); }

std::string_view to_string(NodeUse use) { return kNodeUses[static_cast<std::size_t>(use)]; }
std::optional<NodeUse> parse_node_use(std::string_view name) {
  const auto* word = std::ranges::find(kNodeUses, name);
  if (word == std::end(kNodeUses)) return std::nullopt;
  return static_cast<NodeUse>(word - std::begin(kNodeUses));
}

Json to_json(const Specification& s) {
  return Json::object(
      {{"specification", s.name},
       {"version", s.version},
       {"description", s.description},
       {"components", section(s.components,
                              [](const Component& c) {
                                return Json::object({{"description", c.description}});
                              })},
       {"characteristics", section(s.characteristics,
                                   [](const Characteristic& c) {
                                     Json json = Json::object({{"type", to_string(c.type)}});
                                     if (!c.unit.empty()) json.set("unit", c.unit);
                                     return json.set("description", c.description);
                                   })},
       {"predicates", section(s.predicates,
                              [](const Condition& c) {
                                return Json::object({{"when", c.when}, {"description", c.description}});
                              })},
       {"operations", section(s.operations, operation_json)},
       {"productions", section(s.productions,
                               [](const ProductionSpec& p) {
                                 return Json::object({{"if", p.condition},
                                                      {"then", p.operation},
                                                      {"description", p.description}});
                               })},
       {"periods", section(s.periods, period_json)}});
}

std::string digest(const Specification& specification) {
  return fmt::format("{:016x}", fnv64(to_json(specification).dump()));
}

std::string mode_of(const std::vector<std::pair<std::string, Value>>& initial) {
  for (const auto& [name, value] : initial)
    if (const auto* text = std::get_if<std::string>(&value); text != nullptr && is_diagnosis_mode(*text))
      return *text;
  std::string deepest;
  for (const auto& [name, value] : initial)
    if (const bool* flag = std::get_if<bool>(&value);
        flag != nullptr && *flag && depth_of_mode(name) > depth_of_mode(deepest))
      deepest = name;
  return deepest;
}

std::vector<const Period*> find_periods(const Specification& specification, std::chrono::minutes time_of_day,
                                        NodeUse use) {
  std::vector<const Period*> found;
  for (const Period& p : specification.periods) {
    const bool in_time = p.from < p.to ? time_of_day >= p.from && time_of_day < p.to
                                       : time_of_day >= p.from || time_of_day < p.to;
    if (!in_time || (p.node != NodeUse::any && p.node != use)) continue;
    const std::string mode = mode_of(p.initial);
    if (std::ranges::none_of(found, [&](const Period* other) { return mode_of(other->initial) == mode; }))
      found.push_back(&p);
  }
  return found;
}

const Period* default_period(const Specification& specification) {
  const auto& periods = specification.periods;
  if (periods.size() == 1) return &periods.front();
  const auto quick = std::ranges::find_if(
      periods, [](const Period& p) { return mode_of(p.initial) == kDiagnosisModes.front(); });
  return quick == periods.end() ? nullptr : &*quick;
}

const Period* find_period(const Specification& specification, std::chrono::minutes time_of_day, NodeUse use) {
  const auto found = find_periods(specification, time_of_day, use);
  return found.empty() ? nullptr : found.front();
}

}  // namespace sickbay::diagnose
