// SPDX-License-Identifier: Apache-2.0
// Lays the files of a specification over each other, then looks up the names in the whole.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/hostlist.h"
#include "base/text.h"
#include "engine/diagnose/expression.h"
#include "engine/diagnose/specification_file.h"

namespace sickbay::diagnose {
namespace {

// The entries that hold after all layers, in the order in which their names first came.
template <class T>
struct Overlay {
  struct Row {
    T value;
    const Json* body;
    const SourceText* source;
  };
  std::vector<std::optional<Row>> rows;
  std::unordered_map<std::string, std::size_t> by_name;

  // Errors: an entry to be removed that is not there, which is a name that somebody mistyped.
  Status lay(LayerEntries<T>& entries, const SourceText& source, std::string_view noun) {
    for (LayerEntry<T>& entry : entries) {
      const auto known = by_name.find(entry.name);
      if (!entry.value) {
        if (known == by_name.end())
          return source.refuse(*entry.body, fmt::format("{} '{}' is to be removed and is not there{}", noun,
                                                        entry.name, meant(entry.name, names())));
        rows[known->second].reset();
        by_name.erase(known);
      } else if (known == by_name.end()) {
        by_name.emplace(entry.name, rows.size());
        rows.emplace_back(Row{std::move(*entry.value), entry.body, &source});
      } else {
        rows[known->second] = Row{std::move(*entry.value), entry.body, &source};
      }
    }
    return {};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& row : rows)
      if (row) out.push_back(row->value.name);
    return out;
  }
  const Row* find(const std::string& name) const {
    const auto at = by_name.find(name);
    return at == by_name.end() ? nullptr : &*rows[at->second];
  }
  // Errors: `name`, which stands at `at`, is none of them.
  Status need(const std::string& name, const SourceText& source, const Json& at,
              std::string_view noun) const {
    if (by_name.contains(name)) return {};
    return source.refuse(at, fmt::format("there is no {} '{}'{}", noun, name, meant(name, names())));
  }
  std::vector<T> values() const {
    std::vector<T> out;
    for (const auto& row : rows)
      if (row) out.push_back(row->value);
    return out;
  }
};

struct Whole {
  std::string name;
  const SourceText* first = nullptr;
  std::optional<std::int64_t> version;
  std::optional<std::string> description;
  Overlay<Component> components;
  Overlay<Characteristic> characteristics;
  Overlay<Condition> predicates;
  Overlay<OperationSpec> operations;
  Overlay<ProductionSpec> productions;
  Overlay<Period> periods;

  Status lay(SpecificationLayer& layer) {
    const SourceText& source = *layer.source;
    if (first == nullptr) first = &source;
    if (layer.version) version = layer.version;
    if (layer.description) description = layer.description;
    Status laid = components.lay(layer.components, source, "component");
    if (laid) laid = characteristics.lay(layer.characteristics, source, "characteristic");
    if (laid) laid = predicates.lay(layer.predicates, source, "predicate");
    if (laid) laid = operations.lay(layer.operations, source, "operation");
    if (laid) laid = productions.lay(layer.productions, source, "production");
    if (laid) laid = periods.lay(layer.periods, source, "period");
    return laid;
  }
};

Status check_predicates(const Whole& whole) {
  const std::vector<std::string> names = whole.characteristics.names();
  const TypeOf type_of = [&](std::string_view name) -> std::optional<ValueType> {
    const auto* row = whole.characteristics.find(std::string(name));
    if (row == nullptr) return std::nullopt;
    return row->value.type;
  };
  for (const auto& row : whole.predicates.rows) {
    if (!row) continue;
    if (auto parsed = parse_expression(row->value.when, type_of, names); !parsed)
      return row->source->refuse((*row->body)["when"],
                                 fmt::format("predicate '{}': {}", row->value.name, parsed.error().what));
  }
  return {};
}

Status check_outputs(const Whole& whole, const Overlay<OperationSpec>::Row& row) {
  const OperationSpec& o = row.value;
  const Json& outputs = (*row.body)["outputs"];
  for (std::size_t i = 0; i < o.outputs.size(); ++i) {
    const auto& [own, name] = o.outputs[i];
    const Json& at = outputs.is_array() ? outputs.items()[i] : outputs.members()[i].second;
    if (auto known = whole.characteristics.need(name, *row.source, at, "characteristic"); !known)
      return known;
    if (!is_reserved_output(own)) continue;
    const ValueType type = own == kUnknownRunsOutput ? ValueType::integer : ValueType::boolean;
    if (whole.characteristics.find(name)->value.type != type)
      return row.source->refuse(
          at, fmt::format("operation '{}': the output '{}' needs a characteristic of type {}", o.name, own,
                          to_string(type)));
    if (own == kBudgetSpentOutput && !o.budget)
      return row.source->refuse(at,
                                fmt::format("operation '{}': the output '{}' needs a budget", o.name, own));
  }
  return {};
}

Status check_operations(const Whole& whole) {
  for (const auto& row : whole.operations.rows) {
    if (!row) continue;
    const OperationSpec& o = row->value;
    for (std::size_t i = 0; i < o.components.size(); ++i)
      if (auto known = whole.components.need(o.components[i], *row->source,
                                             (*row->body)["components"].items()[i], "component");
          !known)
        return known;
    for (std::size_t i = 0; i < o.inputs.size(); ++i)
      if (auto known = whole.characteristics.need(o.inputs[i], *row->source,
                                                  (*row->body)["inputs"].items()[i], "characteristic");
          !known)
        return known;
    if (auto known = check_outputs(whole, *row); !known) return known;
    if (o.budget && o.kind != OperationKind::repair)
      return row->source->refuse((*row->body)["budget"],
                                 fmt::format("operation '{}': only a repair has a budget", o.name));
    if (o.needs_idle.value_or(false) && o.kind == OperationKind::critical)
      return row->source->refuse(
          (*row->body)["needs_idle"],
          fmt::format("operation '{}': a critical operation cannot wait for an idle node", o.name));
  }
  return {};
}

Status check_productions(const Whole& whole) {
  for (const auto& row : whole.productions.rows) {
    if (!row) continue;
    if (auto known =
            whole.predicates.need(row->value.condition, *row->source, (*row->body)["if"], "predicate");
        !known)
      return known;
    if (auto known =
            whole.operations.need(row->value.operation, *row->source, (*row->body)["then"], "operation");
        !known)
      return known;
  }
  return {};
}

// Here, for the types of the initial values stand in the whole.
Status read_periods(Whole& whole) {
  for (auto& row : whole.periods.rows) {
    if (!row) continue;
    Period& p = row->value;
    if (p.from == p.to)
      return row->source->refuse(*row->body, fmt::format("period '{}': it begins when it ends", p.name));
    for (const auto& [name, json] : (*row->body)["initial"].members()) {
      const auto* z = whole.characteristics.find(name);
      if (z == nullptr)
        return row->source->refuse(json,
                                   fmt::format("there is no characteristic {}{}", quote_for_message(name),
                                               meant(name, whole.characteristics.names())));
      auto value = value_from_json(json, z->value.type);
      if (!value)
        return row->source->refuse(json,
                                   fmt::format("period '{}': '{}' {}", p.name, name, value.error().what));
      p.initial.emplace_back(name, std::move(*value));
    }
  }
  return {};
}

Result<Specification> finish(Whole& whole) {
  if (!whole.version || !whole.description)
    return whole.first->refuse(whole.first->root(), fmt::format("the specification lacks the key '{}'",
                                                                whole.version ? "description" : "version"));
  Status checked = check_operations(whole);
  if (checked) checked = check_productions(whole);
  if (checked) checked = check_predicates(whole);
  if (checked) checked = read_periods(whole);
  if (!checked) return fail(checked.error());
  Specification s;
  s.name = whole.name;
  s.description = *whole.description;
  s.version = *whole.version;
  s.components = whole.components.values();
  s.characteristics = whole.characteristics.values();
  s.predicates = whole.predicates.values();
  for (std::size_t i = 0, n = 0; i < whole.predicates.rows.size(); ++i)
    if (const auto& row = whole.predicates.rows[i])
      s.predicates[n++].place = row->source->place((*row->body)["when"]);
  s.operations = whole.operations.values();
  s.productions = whole.productions.values();
  s.periods = whole.periods.values();
  return s;
}

bool fits(const SpecificationLayer& layer, const NodeIdentity& node) {
  if (layer.nodes && !has_host(*layer.nodes, node.name)) return false;
  return !layer.features || std::ranges::any_of(*layer.features, [&](const std::string& feature) {
    return std::ranges::find(node.features, feature) != node.features.end();
  });
}

}  // namespace

Result<std::vector<Specification>> read_specifications(std::span<const SpecificationFile> files,
                                                       const NodeIdentity& node) {
  std::vector<SpecificationLayer> layers;  // they own what the whole points to
  for (const SpecificationFile& file : files) {
    auto layer = read_layer(file);
    if (!layer) return fail(layer.error());
    layers.push_back(std::move(*layer));
  }
  std::map<std::string, Whole> wholes;
  for (SpecificationLayer& layer : layers) {
    if (!fits(layer, node)) continue;
    Whole& whole = wholes[layer.name];
    whole.name = layer.name;
    if (auto laid = whole.lay(layer); !laid) return fail(laid.error());
  }
  std::vector<Specification> specifications;
  for (auto& [name, whole] : wholes) {
    auto specification = finish(whole);
    if (!specification) return fail(specification.error());
    specifications.push_back(std::move(*specification));
  }
  return specifications;
}

}  // namespace sickbay::diagnose
