// SPDX-License-Identifier: Apache-2.0
// Lays the files of a specification over each other, then looks up the names in the whole.
//
// What is wrong is collected.  An entry in which the reader of its file found a fault is there by its name,
// so that nobody is told that it lacks; what is in it is not looked at.
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
    bool faulty = false;
  };
  std::vector<std::optional<Row>> rows;
  std::unordered_map<std::string, std::size_t> by_name;

  // A fault: an entry to be removed that is not there, which is a name that somebody mistyped.
  void lay(LayerEntries<T>& entries, const SourceText& source, std::string_view noun, bool complete,
           Faults& faults) {
    for (LayerEntry<T>& entry : entries) {
      const auto known = by_name.find(entry.name);
      if (!entry.value) {
        if (known == by_name.end()) {
          if (complete)
            faults.add(source, *entry.body,
                       fmt::format("{} '{}' is to be removed and is not there{}", noun, entry.name,
                                   meant(entry.name, names())));
          continue;
        }
        rows[known->second].reset();
        by_name.erase(known);
      } else if (known == by_name.end()) {
        by_name.emplace(entry.name, rows.size());
        rows.emplace_back(Row{std::move(*entry.value), entry.body, &source, entry.faulty});
      } else {
        rows[known->second] = Row{std::move(*entry.value), entry.body, &source, entry.faulty};
      }
    }
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
  // Whether `name`, which stands at `at`, is one of them; else it is a fault.
  bool need(const std::string& name, const SourceText& source, const Json& at, std::string_view noun,
            Faults& faults) const {
    if (by_name.contains(name)) return true;
    faults.add(source, at, fmt::format("there is no {} '{}'{}", noun, name, meant(name, names())));
    return false;
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

  std::map<std::string, Json> expects;  ///< arguments of builtin:parts
  const SourceText* expects_in = nullptr;
  const Json* expects_at = nullptr;
  bool complete = true;  ///< no section of a file is lost

  void lay(SpecificationLayer& layer, Faults& faults) {
    const SourceText& source = *layer.source;
    if (first == nullptr) first = &source;
    if (layer.version) version = layer.version;
    if (layer.description) description = layer.description;
    complete = complete && !layer.lacks_names;
    for (const auto& [part, value] : layer.expects)
      if (value.is_null())
        expects.erase(part);
      else
        expects[part] = value;
    if (layer.expects_at != nullptr) expects_in = &source, expects_at = layer.expects_at;
    components.lay(layer.components, source, "component", complete, faults);
    characteristics.lay(layer.characteristics, source, "characteristic", complete, faults);
    predicates.lay(layer.predicates, source, "predicate", complete, faults);
    operations.lay(layer.operations, source, "operation", complete, faults);
    productions.lay(layer.productions, source, "production", complete, faults);
    periods.lay(layer.periods, source, "period", complete, faults);
  }
};

// Whether the expression has a word that is the name of a characteristic with a fault: its type is not known.
bool reads_faulty(const Whole& whole, const std::string& when) {
  return std::ranges::any_of(whole.characteristics.rows, [&](const auto& row) {
    return row && row->faulty && when.find(row->value.name) != std::string::npos;
  });
}

void check_predicates(const Whole& whole, Faults& faults) {
  const std::vector<std::string> names = whole.characteristics.names();
  const TypeOf type_of = [&](std::string_view name) -> std::optional<ValueType> {
    const auto* row = whole.characteristics.find(std::string(name));
    if (row == nullptr) return std::nullopt;
    return row->value.type;
  };
  for (const auto& row : whole.predicates.rows) {
    if (!row || row->faulty || reads_faulty(whole, row->value.when)) continue;
    if (auto parsed = parse_expression(row->value.when, type_of, names); !parsed)
      faults.add(*row->source, (*row->body)["when"],
                 fmt::format("predicate '{}': {}", row->value.name, parsed.error().what));
  }
}

void check_outputs(const Whole& whole, const Overlay<OperationSpec>::Row& row, Faults& faults) {
  const OperationSpec& o = row.value;
  const Json& outputs = (*row.body)["outputs"];
  for (std::size_t i = 0; i < o.outputs.size(); ++i) {
    const auto& [own, name] = o.outputs[i];
    const Json& at = outputs.is_array() ? outputs.items()[i] : outputs.members()[i].second;
    if (!whole.characteristics.need(name, *row.source, at, "characteristic", faults)) continue;
    if (!is_reserved_output(own)) continue;
    const ValueType type = own == kUnknownRunsOutput ? ValueType::integer : ValueType::boolean;
    if (const auto* z = whole.characteristics.find(name); !z->faulty && z->value.type != type)
      faults.add(*row.source, at,
                 fmt::format("operation '{}': the output '{}' needs a characteristic of type {}", o.name, own,
                             to_string(type)));
    if (own == kBudgetSpentOutput && !o.budget)
      faults.add(*row.source, at, fmt::format("operation '{}': the output '{}' needs a budget", o.name, own));
  }
}

// A helper looks, as whoever needs it does, and needs none of its own: else a test of two nodes would be one
// of many, or would change one that nobody examines.
void check_peer(const Whole& whole, const Overlay<OperationSpec>::Row& row, Faults& faults) {
  const OperationSpec& o = row.value;
  if (!o.peer) return;
  const Json& body = (*row.body)["peer"];
  if (!is_examination(o.kind))
    faults.add(*row.source, body,
               fmt::format("operation '{}': only what examines has a helper at a peer", o.name));
  if (!whole.operations.need(o.peer->runs, *row.source, body["runs"], "operation", faults)) return;
  const auto* helper = whole.operations.find(o.peer->runs);
  if (helper == nullptr || helper->faulty) return;
  if (!is_examination(helper->value.kind) || helper->value.peer || repairs(helper->value))
    faults.add(*row.source, body["runs"],
               fmt::format("operation '{}': '{}' is no helper: it must examine, and have no peer of its own",
                           o.name, o.peer->runs));
}

void check_operations(const Whole& whole, Faults& faults) {
  for (const auto& row : whole.operations.rows) {
    if (!row || row->faulty) continue;
    const OperationSpec& o = row->value;
    const Json& body = *row->body;
    for (std::size_t i = 0; i < o.components.size(); ++i)
      whole.components.need(o.components[i], *row->source, body["components"].items()[i], "component",
                            faults);
    for (std::size_t i = 0; i < o.inputs.size(); ++i)
      whole.characteristics.need(o.inputs[i], *row->source, body["inputs"].items()[i], "characteristic",
                                 faults);
    check_outputs(whole, *row, faults);
    if (o.budget && o.kind != OperationKind::repair)
      faults.add(*row->source, body["budget"],
                 fmt::format("operation '{}': only a repair has a budget", o.name));
    if (o.needs_idle.value_or(false) && o.kind == OperationKind::critical)
      faults.add(*row->source, body["needs_idle"],
                 fmt::format("operation '{}': a critical operation cannot wait for an idle node", o.name));
    check_peer(whole, *row, faults);
    if (o.active.value_or(false) && o.kind == OperationKind::critical)
      faults.add(*row->source, body["active"],
                 fmt::format("operation '{}': a critical operation cannot wait for leave", o.name));
  }
}

void check_productions(const Whole& whole, Faults& faults) {
  for (const auto& row : whole.productions.rows) {
    if (!row || row->faulty) continue;
    whole.predicates.need(row->value.condition, *row->source, (*row->body)["if"], "predicate", faults);
    whole.operations.need(row->value.operation, *row->source, (*row->body)["then"], "operation", faults);
  }
}

// Here, for the types of the initial values stand in the whole.
void read_periods(Whole& whole, Faults& faults) {
  for (auto& row : whole.periods.rows) {
    if (!row || row->faulty) continue;
    Period& p = row->value;
    if (p.from == p.to)
      faults.add(*row->source, *row->body, fmt::format("period '{}': it begins when it ends", p.name));
    for (const auto& [name, json] : (*row->body)["initial"].members()) {
      const auto* z = whole.characteristics.find(name);
      if (z == nullptr) {
        faults.add(*row->source, json,
                   fmt::format("there is no characteristic {}{}", quote_for_message(name),
                               meant(name, whole.characteristics.names())));
        continue;
      }
      if (z->faulty) continue;
      auto value = value_from_json(json, z->value.type);
      if (value)
        p.initial.emplace_back(name, std::move(*value));
      else
        faults.add(*row->source, json, fmt::format("period '{}': '{}' {}", p.name, name, value.error().what));
    }
  }
}

constexpr std::string_view kLooksForParts = "builtin:parts";

// What is expected is for somebody to look for.
void check_expected(const Whole& whole, Faults& faults) {
  const auto looks = [](const auto& row) { return row && row->value.run == kLooksForParts; };
  if (!whole.expects.empty() && std::ranges::none_of(whole.operations.rows, looks))
    faults.add(*whole.expects_in, *whole.expects_at,
               fmt::format("nothing looks for what is expected: no operation of '{}' runs {}", whole.name,
                           kLooksForParts));
}

// What the names lead to, and what the entries mean together.
void check(Whole& whole, Faults& faults) {
  if (!whole.version || !whole.description)
    faults.add(
        *whole.first, whole.first->root(),
        fmt::format("the specification lacks the key '{}'", whole.version ? "description" : "version"));
  check_expected(whole, faults);
  check_operations(whole, faults);
  check_productions(whole, faults);
  check_predicates(whole, faults);
  read_periods(whole, faults);
}

Specification finished(const Whole& whole) {
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
  for (OperationSpec& o : s.operations)
    if (o.run == kLooksForParts)
      for (const auto& [part, value] : whole.expects) o.arguments.set(part, value);
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
  Faults faults;
  std::vector<SpecificationLayer> layers;  // they own what the whole points to
  layers.reserve(files.size());
  for (const SpecificationFile& file : files)
    if (auto layer = read_layer(file, faults)) layers.push_back(std::move(*layer));
  const bool all_read = layers.size() == files.size();  // else nobody knows whose names lack
  std::map<std::string, Whole> wholes;
  for (SpecificationLayer& layer : layers) {
    if (!fits(layer, node)) continue;
    Whole& whole = wholes[layer.name];
    whole.name = layer.name;
    whole.complete = whole.complete && all_read;
    whole.lay(layer, faults);
  }
  for (auto& [name, whole] : wholes)
    if (whole.complete) check(whole, faults);
  if (!faults.empty()) return fail(faults.error());
  std::vector<Specification> specifications;
  for (const auto& [name, whole] : wholes) specifications.push_back(finished(whole));
  return specifications;
}

}  // namespace sickbay::diagnose
