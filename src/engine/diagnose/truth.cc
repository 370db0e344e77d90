// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/truth.h"

#include <array>

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
  std::array<const Value*, 8> few;  // most atoms have one or two
  std::vector<const Value*> many;
  const std::size_t n = atom.characteristics.size();
  if (n > few.size()) many.resize(n);
  const std::span<const Value*> values(n > few.size() ? many.data() : few.data(), n);
  for (std::size_t i = 0; i < n; ++i) {
    const Fact& fact = facts[atom.characteristics[i]];
    if (fact.state != Fact::State::known) return Truth::unknown;
    values[i] = &fact.value;
  }
  auto truth = atom.predicate->evaluate(values);
  if (truth) return *truth ? Truth::yes : Truth::no;
  why = truth.error().what;
  return Truth::unknown;
}

}  // namespace

Truth evaluate(const Rules& rules, Index condition, const std::vector<Fact>& facts,
               std::vector<std::optional<Truth>>& atoms, std::string& why) {
  using Kind = LogicNode::Kind;
  std::array<Truth, kMostLogicStack> stack{};
  std::size_t top = 0;  // one behind the last
  const LogicTree& tree = rules.conditions[condition].tree;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    SB_CHECK(top + 1 < stack.size(), "the depth of an expression bounds the stack");
    const LogicNode& node = tree[i];
    switch (node.kind) {
      case Kind::atom: {
        auto& known = atoms[node.number];
        if (!known) known = evaluate_atom(rules.atoms[node.number], facts, why);
        stack[top++] = *known;
        break;
      }
      case Kind::constant:
        stack[top++] = node.number != 0 ? Truth::yes : Truth::no;
        break;
      case Kind::unless_no:
        if (stack[top - 1] == Truth::no) i = node.number;
        break;
      case Kind::unless_yes:
        if (stack[top - 1] == Truth::yes) i = node.number;
        break;
      case Kind::negation:
        stack[top - 1] = negation(stack[top - 1]);
        break;
      case Kind::conjunction:
        --top;
        stack[top - 1] = conjunction(stack[top - 1], stack[top]);
        break;
      case Kind::disjunction:
        --top;
        stack[top - 1] = disjunction(stack[top - 1], stack[top]);
        break;
      case Kind::exclusive:
        --top;
        stack[top - 1] = exclusive(stack[top - 1], stack[top]);
        break;
      case Kind::choice:
        top -= 2;
        stack[top - 1] = choice(stack[top - 1], stack[top], stack[top + 1]);
        break;
    }
  }
  return stack[0];
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
