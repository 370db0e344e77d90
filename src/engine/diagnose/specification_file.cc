// SPDX-License-Identifier: Apache-2.0
// One table of keys for each kind of entry, and one reader that walks them.
#include "engine/diagnose/specification_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/size.h"
#include "base/text.h"

namespace sickbay::diagnose {
namespace {

// Words that an expression reads in another way than as a characteristic.
bool is_reserved(std::string_view word) {
  constexpr std::string_view kReserved[] = {
      "AND",       "OR",         "XOR",       "NOT",     "Math",     "true",      "false",     "null",
      "undefined", "NaN",        "Infinity",  "this",    "new",      "delete",    "typeof",    "void",
      "in",        "instanceof", "function",  "var",     "let",      "const",     "if",        "else",
      "for",       "while",      "do",        "return",  "throw",    "try",       "catch",     "finally",
      "switch",    "case",       "default",   "break",   "continue", "with",      "class",     "enum",
      "export",    "extends",    "import",    "super",   "debugger", "eval",      "arguments", "yield",
      "await",     "static",     "interface", "package", "private",  "protected", "public",    "implements"};
  return std::ranges::find(kReserved, word) != std::end(kReserved);
}

Taken take_size(std::int64_t& field, const Json& value, Bytes least, Bytes most) {
  if (!value.is_string())
    return Wrong{&value, fmt::format("must be a size like \"64M\", not {}", value.type_name())};
  auto read = parse_size(value.as_string(), BareUnit::bytes);
  if (!read) return Wrong{&value, read.error().what};
  if (*read < least || *read > most)
    return Wrong{&value, fmt::format("must be from {} to {}", format_size(least), format_size(most))};
  field = read->count;
  return {};
}

Taken take_time_of_day(std::chrono::minutes& field, const Json& value) {
  const std::string& t = value.as_string();
  const auto digits = [&](std::size_t i) { return (t[i] - '0') * 10 + (t[i + 1] - '0'); };
  if (t.size() != 5 || t[2] != ':' || !is_digit(t[0]) || !is_digit(t[1]) || !is_digit(t[3]) ||
      !is_digit(t[4]) || digits(3) > 59 || digits(0) * 60 + digits(3) > 24 * 60)
    return Wrong{&value, "must be a time of day from \"00:00\" to \"24:00\""};
  field = std::chrono::minutes(digits(0) * 60 + digits(3));
  return {};
}

Taken take_run(std::string& field, const Json& value) {
  if (!value.is_string()) return Wrong{&value, fmt::format("must be a text, not {}", value.type_name())};
  const std::string_view run = value.as_string();
  constexpr std::string_view kBuiltin = "builtin:";
  const bool builtin = run.starts_with(kBuiltin);
  const std::string_view name = builtin ? run.substr(kBuiltin.size()) : run;
  const bool file =
      !name.empty() && name.size() <= 2 * kMostName && name[0] != '.' && name[0] != '-' &&
      std::ranges::all_of(name, [](char c) {
        return is_digit(c) || c == '_' || c == '-' || c == '.' || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
      });
  if (builtin ? !is_name(name) : !file)
    return Wrong{
        &value, fmt::format("{} is neither \"builtin:NAME\" nor the name of a file of the operations folders",
                            quote_for_message(run))};
  field = run;
  return {};
}

// Entries -------------------------------------------------------------------------------------------------

Taken take_outputs(OperationSpec& o, const Json& value) {
  if (value.is_array()) {
    std::vector<std::string> names;
    auto wrong = take_names(names, value);
    for (const std::string& name : names) o.outputs.emplace_back(name, name);
    return wrong;
  }
  if (!value.is_object())
    return Wrong{&value,
                 fmt::format("must be a list of characteristics or an object, not {}", value.type_name())};
  Taken wrong;
  for (const auto& [own, target] : value.members()) {
    std::string name;
    if (!is_name(own))
      wrong.add(Wrong{&target, fmt::format("{} is no name: {}", quote_for_message(own), kNameRule)});
    if (auto no_name = take_name(name, target)) {
      wrong.add(std::move(no_name));
      continue;
    }
    for (const auto& [other, characteristic] : o.outputs)
      if (characteristic == name)
        wrong.add(Wrong{&target, fmt::format("{} is given by two outputs", quote_for_message(name))});
    o.outputs.emplace_back(own, std::move(name));
  }
  return wrong;
}

constexpr Key<Budget> kBudgetKeys[] = {
    {"runs", true,
     [](Budget& b, const Json& v) {
       std::int64_t runs = 0;
       auto wrong = take_count(runs, v, 1, 1000);
       b.runs = static_cast<int>(runs);
       return wrong;
     }},
    {"window", true,
     [](Budget& b, const Json& v) {
       return take_duration<std::chrono::seconds>(b.window, v, std::chrono::seconds(1),
                                                  std::chrono::hours(24 * 366));
     }},
};

constexpr Key<PeerSpec> kPeerKeys[] = {
    {"runs", true, [](PeerSpec& p, const Json& v) { return take_name(p.runs, v); }},
    {"node", false, [](PeerSpec& p, const Json& v) { return take_text(p.node, v, 255); }},
};

constexpr Key<Component> kComponentKeys[] = {
    {"description", true, [](Component& c, const Json& v) { return take_description(c.description, v); }},
};

constexpr Key<Characteristic> kCharacteristicKeys[] = {
    {"type", true,
     [](Characteristic& c, const Json& v) {
       std::vector<std::string> words;
       for (const ValueTypeRow& row : kValueTypes) words.emplace_back(row.name);
       std::size_t which = 0;
       auto wrong = take_word(v, words, which);
       c.type = kValueTypes[which].type;
       return wrong;
     }},
    {"unit", false, [](Characteristic& c, const Json& v) { return take_text(c.unit, v, 32); }},
    {"description", true,
     [](Characteristic& c, const Json& v) { return take_description(c.description, v); }},
};

constexpr Key<Condition> kPredicateKeys[] = {
    {"when", true, [](Condition& c, const Json& v) { return take_text(c.when, v, std::size_t{1} << 20); }},
    {"description", true, [](Condition& c, const Json& v) { return take_description(c.description, v); }},
};

constexpr Key<OperationSpec> kOperationKeys[] = {
    {"kind", true,
     [](OperationSpec& o, const Json& v) {
       std::vector<std::string> words;
       for (const OperationKindRow& row : kOperationKinds) words.emplace_back(row.name);
       std::size_t which = 0;
       auto wrong = take_word(v, words, which);
       o.kind = kOperationKinds[which].kind;
       return wrong;
     }},
    {"run", true, [](OperationSpec& o, const Json& v) { return take_run(o.run, v); }},
    {"components", false, [](OperationSpec& o, const Json& v) { return take_names(o.components, v); }},
    {"inputs", false, [](OperationSpec& o, const Json& v) { return take_names(o.inputs, v); }},
    {"outputs", false, [](OperationSpec& o, const Json& v) { return take_outputs(o, v); }},
    {"arguments", false,
     [](OperationSpec& o, const Json& v) -> Taken {
       if (!v.is_object()) return Wrong{&v, fmt::format("must be an object, not {}", v.type_name())};
       o.arguments = v;
       return {};
     }},
    {"description", true, [](OperationSpec& o, const Json& v) { return take_description(o.description, v); }},
    {"timeout", false,
     [](OperationSpec& o, const Json& v) {
       return take_duration<std::chrono::milliseconds>(o.timeout, v, std::chrono::milliseconds(10),
                                                       std::chrono::hours(24));
     }},
    {"memory", false,
     [](OperationSpec& o, const Json& v) { return take_size(o.memory, v, mib(1), gib(1024)); }},
    {"output", false, [](OperationSpec& o, const Json& v) { return take_size(o.output, v, {256}, mib(16)); }},
    {"budget", false,
     [](OperationSpec& o, const Json& v) { return take_object<Budget>(o.budget.emplace(), v, kBudgetKeys); }},
    {"needs_idle", false,
     [](OperationSpec& o, const Json& v) { return take_flag(o.needs_idle.emplace(), v); }},
    {"active", false, [](OperationSpec& o, const Json& v) { return take_flag(o.active.emplace(), v); }},
    {"peer", false,
     [](OperationSpec& o, const Json& v) { return take_object<PeerSpec>(o.peer.emplace(), v, kPeerKeys); }},
    {"listens", false, [](OperationSpec& o, const Json& v) { return take_count(o.listens, v, 1, 65535); }},
};

constexpr Key<ProductionSpec> kProductionKeys[] = {
    {"if", true, [](ProductionSpec& p, const Json& v) { return take_name(p.condition, v); }},
    {"then", true, [](ProductionSpec& p, const Json& v) { return take_name(p.operation, v); }},
    {"description", true,
     [](ProductionSpec& p, const Json& v) { return take_description(p.description, v); }},
};

constexpr Key<Period> kPeriodKeys[] = {
    {"description", true, [](Period& p, const Json& v) { return take_description(p.description, v); }},
    {"from", false, [](Period& p, const Json& v) { return take_time_of_day(p.from, v); }},
    {"to", false, [](Period& p, const Json& v) { return take_time_of_day(p.to, v); }},
    {"node", false,
     [](Period& p, const Json& v) {
       std::size_t which = 0;
       auto wrong = take_word(v, {"any", "idle", "busy", "maintenance"}, which);
       p.node = static_cast<NodeUse>(which);
       return wrong;
     }},
    {"every", true,
     [](Period& p, const Json& v) {
       return take_duration<std::chrono::seconds>(p.every, v, std::chrono::seconds(1),
                                                  std::chrono::hours(24 * 366));
     }},
    {"initial", true,
     [](Period&, const Json& v) -> Taken {  // its values: when the types are known
       if (!v.is_object()) return Wrong{&v, fmt::format("must be an object, not {}", v.type_name())};
       return {};
     }},
};

Taken take_features(SpecificationLayer& l, const Json& v) {
  auto& features = l.features.emplace();
  if (!v.is_array()) return Wrong{&v, fmt::format("must be a list of features, not {}", v.type_name())};
  for (const Json& item : v.items()) {
    if (!item.is_string() || item.as_string().empty()) return Wrong{&item, "a feature must be a text"};
    features.push_back(item.as_string());
  }
  return {};
}
constexpr Key<SpecificationLayer> kNodesKeys[] = {{"features", true, take_features}};

Taken take_nodes(SpecificationLayer& l, const Json& v) {
  if (v.is_object()) return take_object<SpecificationLayer>(l, v, kNodesKeys);
  if (!v.is_string())
    return Wrong{&v, fmt::format("must be a hostlist or {{\"features\": [...]}}, not {}", v.type_name())};
  auto names = expand_hostlist(v.as_string());
  if (!names) return Wrong{&v, names.error().what};
  l.nodes = sorted_hosts(std::move(*names));
  return {};
}

// Expected hardware: each key is an argument of builtin:parts, in the form in which people write it.
using TakeExpected = Taken (*)(Json& argument, const Json& value);

template <TakeExpected take>
Taken take_expected(SpecificationLayer& l, std::string_view key, const Json& v) {
  Json argument;
  Taken wrong = v.is_null() ? Taken() : take(argument, v);
  l.expects.emplace_back(key, std::move(argument));
  return wrong;
}
Taken expected_count(Json& argument, const Json& v) {
  std::int64_t count = 0;
  auto wrong = take_count(count, v, 1, 1'000'000);
  argument = Json(count);
  return wrong;
}
Taken expected_size(Json& argument, const Json& v) {
  std::int64_t bytes = 0;
  auto wrong = take_size(bytes, v, mib(1), gib(1 << 20));
  argument = Json(bytes);
  return wrong;
}
Taken expected_devices(Json& argument, const Json& v) {
  if (!v.is_array() || v.items().empty())
    return Wrong{&v, fmt::format("must be a list of devices, not {}", v.type_name())};
  Taken wrong;
  std::string names;
  for (const Json& item : v.items()) {
    const std::string& name = item.as_string();
    if (name.empty() || name.size() > kMostName || name.find_first_of("/, ") != std::string::npos)
      wrong.add(Wrong{&item, "must be the name of a device, like \"mlx5_0\""});
    names += (names.empty() ? "" : ",") + name;
  }
  if (names.size() > 256) wrong.add(Wrong{&v, "must be 256 characters at most, with their commas"});
  argument = Json(std::move(names));
  return wrong;
}

constexpr Key<SpecificationLayer> kExpectsKeys[] = {
    {"processors", false,
     [](SpecificationLayer& l, const Json& v) { return take_expected<expected_count>(l, "processors", v); }},
    {"memory", false,
     [](SpecificationLayer& l, const Json& v) { return take_expected<expected_size>(l, "memory", v); }},
    {"memory_modules", false,
     [](SpecificationLayer& l, const Json& v) {
       return take_expected<expected_count>(l, "memory_modules", v);
     }},
    {"disks", false,
     [](SpecificationLayer& l, const Json& v) { return take_expected<expected_count>(l, "disks", v); }},
    {"gpus", false,
     [](SpecificationLayer& l, const Json& v) { return take_expected<expected_count>(l, "gpus", v); }},
    {"infiniband", false,
     [](SpecificationLayer& l, const Json& v) { return take_expected<expected_count>(l, "infiniband", v); }},
    {"infiniband_devices", false,
     [](SpecificationLayer& l, const Json& v) {
       return take_expected<expected_devices>(l, "infiniband_devices", v);
     }},
    {"network_devices", false,
     [](SpecificationLayer& l, const Json& v) {
       return take_expected<expected_devices>(l, "network_devices", v);
     }},
};

template <class T>
Taken take_entries(SpecificationLayer& layer, LayerEntries<T>& field, const Json& section,
                   std::span<const Key<T>> keys, std::string_view noun) {
  if (!section.is_object() || section.size() > kMostEntries) {
    layer.lacks_names = true;
    return Wrong{&section, section.is_object()
                               ? fmt::format("has {} entries, the bound is {}", section.size(), kMostEntries)
                               : fmt::format("must be an object, not {}", section.type_name())};
  }
  Taken wrong;
  for (const auto& [name, body] : section.members()) {
    if (!is_name(name) || (std::is_same_v<T, Characteristic> && is_reserved(name))) {
      wrong.add(Wrong{&body, fmt::format("{} is no name of {} {}: {}", quote_for_message(name),
                                         noun.starts_with('o') ? "an" : "a", noun,
                                         is_name(name) ? "a word of expressions" : kNameRule)});
      continue;
    }
    LayerEntry<T> entry{name, {}, &body};
    if (!body.is_null()) {
      entry.value.emplace();
      entry.value->name = name;
      entry.value->place = layer.source->place(body);
      auto in_it = take_object<T>(*entry.value, body, keys);
      entry.faulty = static_cast<bool>(in_it);
      wrong.add(std::move(in_it), fmt::format("{} '{}': ", noun, name));
    }
    field.push_back(std::move(entry));
  }
  return wrong;
}

// The sections need the places of their file, which a layer has.
constexpr Key<SpecificationLayer> kSpecificationKeys[] = {
    {"specification", true, [](SpecificationLayer& l, const Json& v) { return take_name(l.name, v); }},
    {"version", false,
     [](SpecificationLayer& l, const Json& v) {
       return take_count(l.version.emplace(), v, 1, 1'000'000'000);
     }},
    {"description", false,
     [](SpecificationLayer& l, const Json& v) { return take_description(l.description.emplace(), v); }},
    {"nodes", false, take_nodes},
    {"expects", false,
     [](SpecificationLayer& l, const Json& v) {
       l.expects_at = &v;
       return take_object<SpecificationLayer>(l, v, kExpectsKeys);
     }},
    {"components", false,
     [](SpecificationLayer& l, const Json& v) {
       return take_entries<Component>(l, l.components, v, kComponentKeys, "component");
     }},
    {"characteristics", false,
     [](SpecificationLayer& l, const Json& v) {
       return take_entries<Characteristic>(l, l.characteristics, v, kCharacteristicKeys, "characteristic");
     }},
    {"predicates", false,
     [](SpecificationLayer& l, const Json& v) {
       return take_entries<Condition>(l, l.predicates, v, kPredicateKeys, "predicate");
     }},
    {"operations", false,
     [](SpecificationLayer& l, const Json& v) {
       return take_entries<OperationSpec>(l, l.operations, v, kOperationKeys, "operation");
     }},
    {"productions", false,
     [](SpecificationLayer& l, const Json& v) {
       return take_entries<ProductionSpec>(l, l.productions, v, kProductionKeys, "production");
     }},
    {"periods", false,
     [](SpecificationLayer& l, const Json& v) {
       return take_entries<Period>(l, l.periods, v, kPeriodKeys, "period");
     }},
};

}  // namespace

std::optional<SpecificationLayer> read_layer(const SpecificationFile& file, Faults& faults) {
  auto source = SourceText::parse(file);
  if (!source) {
    faults.add(source.error());
    return std::nullopt;
  }
  SpecificationLayer layer;
  layer.source = *source;
  const Json& root = layer.source->root();
  faults.add(*layer.source, take_object<SpecificationLayer>(layer, root, kSpecificationKeys),
             "the specification: ");
  for (const auto& [name, value] : root.members())  // a section whose name is misspelt
    if (std::ranges::find(kSpecificationKeys, name, &Key<SpecificationLayer>::key) ==
        std::end(kSpecificationKeys))
      layer.lacks_names = true;
  if (layer.name.empty()) return std::nullopt;
  return layer;
}

std::span<const KeyRow> specification_keys() {
  static const std::vector<KeyRow> kRows = [] {
    std::vector<KeyRow> rows;
    const auto add = [&](std::string_view section, const auto& keys) {
      for (const auto& key : keys) rows.push_back({section, key.key, key.required});
    };
    add("specification", kSpecificationKeys);
    add("nodes", kNodesKeys);
    add("expects", kExpectsKeys);
    add("component", kComponentKeys);
    add("characteristic", kCharacteristicKeys);
    add("predicate", kPredicateKeys);
    add("operation", kOperationKeys);
    add("peer", kPeerKeys);
    add("budget", kBudgetKeys);
    add("production", kProductionKeys);
    add("period", kPeriodKeys);
    return rows;
  }();
  return kRows;
}

}  // namespace sickbay::diagnose
