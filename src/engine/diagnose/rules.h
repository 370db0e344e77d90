// SPDX-License-Identifier: Apache-2.0
// Rules: a specification made ready to run: names are numbers, predicates are trees over compiled atoms, and
// an index leads from a characteristic to what depends on it.
//
// An atom is a part of a predicate without AND, OR, XOR, NOT: it is evaluated as ECMAScript.  The logic above
// is ours and three-valued (Kleene).  Equal atoms of several predicates are compiled once.  Immutable after
// compile(); shared by all runs.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/diagnose/expression.h"
#include "engine/diagnose/specification.h"
#include "ports/predicate.h"

namespace sickbay::diagnose {

/// Numbers of entries of the specification, in its order.
using Index = std::uint32_t;
inline constexpr Index kNone = 0xffffffffu;

struct Rules {
  struct Atom {
    std::string text;                      ///< canonical ECMAScript
    std::vector<Index> characteristics;    ///< its variables, in their order
    std::unique_ptr<Predicate> predicate;  ///< never null
  };
  struct ConditionRule {
    LogicTree tree;                      ///< leaves are numbers of atoms
    std::vector<Index> characteristics;  ///< all that it mentions, each once
    std::vector<Index> productions;      ///< that have it
  };
  struct OperationRule {
    OperationKind kind;
    bool repairs, needs_idle, active;  ///< what it needs a permission for
    std::vector<Index> components, inputs;
    std::vector<std::pair<std::string, Index>> outputs;  ///< own name -> characteristic
    std::vector<Index> productions;
  };
  struct ProductionRule {
    Index condition, operation;
  };
  struct CharacteristicRule {
    std::vector<Index> atoms, conditions;  ///< that mention it
  };

  Specification specification;
  std::vector<Atom> atoms;
  std::vector<ConditionRule> conditions;
  std::vector<OperationRule> operations;
  std::vector<ProductionRule> productions;
  std::vector<CharacteristicRule> characteristics;

  /// The number of the characteristic of this name, or kNone.  O(log n).
  Index find_characteristic(std::string_view name) const;
  Index find_operation(std::string_view name) const;
  std::vector<Index> characteristics_by_name, operations_by_name;  ///< sorted by name
};

/// `specification` must be one that read_specifications gave.
/// Errors: bad_input with the place of the predicate that is refused, and why.
Result<std::shared_ptr<const Rules>> compile(Specification specification, PredicateCompiler& compiler);

}  // namespace sickbay::diagnose
