// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/truth.h"

#include <algorithm>

namespace sickbay::diagnose {
namespace {

Truth negation(Truth a) { return a == Truth::unknown ? a : a == Truth::yes ? Truth::no : Truth::yes; }
Truth conjunction(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  return a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::unknown;
}
Truth disjunction(Truth a, Truth b) { return negation(conjunction(negation(a), negation(b))); }
Truth exclusive(Truth a, Truth b) {
  if (a == Truth::unknown || b == Truth::unknown) return Truth::unknown;
  return a == b ? Truth::no : Truth::yes;
}
Truth choice(Truth condition, Truth yes, Truth no) {
  if (condition == Truth::unknown) return yes == no ? yes : Truth::unknown;
  return condition == Truth::yes ? yes : no;
}

Truth evaluate_atom(const Rules::Atom& atom, const std::vector<Fact>& facts, std::string& why) {
  std::vector<const Value*> values;
  values.reserve(atom.characteristics.size());
  for (const Index z : atom.characteristics) {
    if (facts[z].state != Fact::State::known) return Truth::unknown;
    values.push_back(&facts[z].value);
  }
  auto truth = atom.predicate->evaluate(values);
  if (truth) return *truth ? Truth::yes : Truth::no;
  why = truth.error().what;
  return Truth::unknown;
}

}  // namespace

Truth evaluate(const Rules& rules, Index condition, const std::vector<Fact>& facts,
               std::vector<std::optional<Truth>>& atoms, std::string& why) {
  std::vector<Truth> stack;
  const auto pop = [&] {
    const Truth top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const LogicNode& node : rules.conditions[condition].tree) {
    switch (node.kind) {
      case LogicNode::Kind::atom: {
        auto& known = atoms[node.atom];
        if (!known) known = evaluate_atom(rules.atoms[node.atom], facts, why);
        stack.push_back(*known);
        break;
      }
      case LogicNode::Kind::constant:
        stack.push_back(node.atom != 0 ? Truth::yes : Truth::no);
        break;
      case LogicNode::Kind::negation:
        stack.back() = negation(stack.back());
        break;
      case LogicNode::Kind::conjunction: {
        const Truth b = pop();
        stack.back() = conjunction(stack.back(), b);
        break;
      }
      case LogicNode::Kind::disjunction: {
        const Truth b = pop();
        stack.back() = disjunction(stack.back(), b);
        break;
      }
      case LogicNode::Kind::exclusive: {
        const Truth b = pop();
        stack.back() = exclusive(stack.back(), b);
        break;
      }
      case LogicNode::Kind::choice: {
        const Truth no = pop(), yes = pop();
        stack.back() = choice(stack.back(), yes, no);
        break;
      }
    }
  }
  return stack.back();
}

Json values_of(const Rules& rules, std::span<const Index> characteristics, const std::vector<Fact>& facts) {
  Json values = Json::object();
  for (const Index z : characteristics)
    if (facts[z].state != Fact::State::none)
      values.set(rules.specification.characteristics[z].name,
                 facts[z].state == Fact::State::known ? sickbay::to_json(facts[z].value) : Json());
  return values;
}

}  // namespace sickbay::diagnose
