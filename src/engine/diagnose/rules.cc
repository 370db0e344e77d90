// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace sickbay::diagnose {
namespace {

template <class T>
std::vector<Index> sorted_by_name(const std::vector<T>& entries) {
  std::vector<Index> order(entries.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, {}, [&](Index i) -> const std::string& { return entries[i].name; });
  return order;
}

template <class T>
Index find_by_name(const std::vector<T>& entries, const std::vector<Index>& order, std::string_view name) {
  const auto at =
      std::ranges::lower_bound(order, name, {}, [&](Index i) -> std::string_view { return entries[i].name; });
  return at != order.end() && entries[*at].name == name ? *at : kNone;
}

template <class T>
std::unordered_map<std::string_view, Index> numbers(const std::vector<T>& entries) {
  std::unordered_map<std::string_view, Index> out;
  for (Index i = 0; i < entries.size(); ++i) out.emplace(entries[i].name, i);
  return out;
}

void add_once(std::vector<Index>& set, Index i) {
  if (std::ranges::find(set, i) == set.end()) set.push_back(i);
}

// Errors: bad_input with the predicate's place.
Status compile_conditions(Rules& rules, PredicateCompiler& compiler) {
  const Specification& s = rules.specification;
  std::vector<std::string> names;
  for (const Characteristic& z : s.characteristics) names.push_back(z.name);
  const TypeOf type_of = [&](std::string_view name) -> std::optional<ValueType> {
    const Index i = rules.find_characteristic(name);
    if (i == kNone) return std::nullopt;
    return s.characteristics[i].type;
  };
  std::unordered_map<std::string, Index> known;
  for (Index c = 0; c < s.predicates.size(); ++c) {
    const Condition& condition = s.predicates[c];
    const auto wrong = [&](const Error& e) {
      return fail(Error(ErrorCode::bad_input,
                        fmt::format("{}: predicate '{}': {}", condition.place.text(), condition.name, e.what))
                      .remedied_by(std::string(e.remedy())));
    };
    auto expression = parse_expression(condition.when, type_of, names);
    if (!expression) return wrong(expression.error());
    Rules::ConditionRule& rule = rules.conditions[c];
    std::vector<Index> atom_number;
    for (Atom& atom : expression->atoms) {
      const auto [at, fresh] = known.try_emplace(atom.text, static_cast<Index>(rules.atoms.size()));
      if (fresh) {
        auto predicate = compiler.compile(atom.text, atom.variables);
        if (!predicate) return wrong(predicate.error());
        Rules::Atom& made = rules.atoms.emplace_back();
        made.predicate = std::move(*predicate);
        for (const std::string& name : atom.variables) {
          made.characteristics.push_back(rules.find_characteristic(name));
          rules.characteristics[made.characteristics.back()].atoms.push_back(at->second);
        }
        made.text = std::move(atom.text);
      }
      atom_number.push_back(at->second);
      for (const Index z : rules.atoms[at->second].characteristics) add_once(rule.characteristics, z);
    }
    rule.tree = std::move(expression->tree);
    for (LogicNode& node : rule.tree)
      if (node.kind == LogicNode::Kind::atom) node.number = atom_number[node.number];
    for (const Index z : rule.characteristics) rules.characteristics[z].conditions.push_back(c);
  }
  return {};
}

}  // namespace

Index Rules::find_characteristic(std::string_view name) const {
  return find_by_name(specification.characteristics, characteristics_by_name, name);
}
Index Rules::find_operation(std::string_view name) const {
  return find_by_name(specification.operations, operations_by_name, name);
}

Result<std::shared_ptr<const Rules>> compile(Specification specification, PredicateCompiler& compiler) {
  auto rules = std::make_shared<Rules>();
  rules->specification = std::move(specification);
  const Specification& s = rules->specification;
  rules->characteristics_by_name = sorted_by_name(s.characteristics);
  rules->operations_by_name = sorted_by_name(s.operations);
  rules->characteristics.resize(s.characteristics.size());
  rules->conditions.resize(s.predicates.size());
  if (auto compiled = compile_conditions(*rules, compiler); !compiled) return fail(compiled.error());

  // (The reader has looked up every name; what it made cannot lack one.)
  const auto components = numbers(s.components);
  const auto conditions = numbers(s.predicates);
  for (const OperationSpec& o : s.operations) {
    Rules::OperationRule& rule = rules->operations.emplace_back();
    rule.kind = o.kind;
    rule.repairs = repairs(o);
    rule.needs_idle = needs_idle(o);
    rule.active = is_active(o);
    for (const std::string& name : o.components) rule.components.push_back(components.at(name));
    for (const std::string& name : o.inputs) rule.inputs.push_back(rules->find_characteristic(name));
    for (const auto& [own, name] : o.outputs)
      rule.outputs.emplace_back(own, rules->find_characteristic(name));
  }
  for (Index p = 0; p < s.productions.size(); ++p) {
    const Index condition = conditions.at(s.productions[p].condition);
    const Index operation = rules->find_operation(s.productions[p].operation);
    rules->productions.push_back({condition, operation});
    rules->conditions[condition].productions.push_back(p);
    rules->operations[operation].productions.push_back(p);
  }
  return rules;
}

}  // namespace sickbay::diagnose
