// SPDX-License-Identifier: Apache-2.0
// Expression: a predicate's text, judged before anything compiles it.
//
// ONE ECMAScript expression of literals, characteristics, operators, parentheses and Math.*, with the words
// AND OR XOR NOT.  It is parsed here against the list of what is allowed, its types are checked, and what
// goes to the interpreter is written anew from the tree: no byte of the text gets there unread.  Without
// calls (but Math's), members, indexes, regular expressions, assignment and statements nothing in it can
// loop, and the longest text it can build is bounded when it is read. The words bind as in SQL: NOT, below
// comparisons; then AND (&&), XOR, OR (||). Source: doc/design/diagnose.md; ECMA-262 5.1, section 11.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/value.h"

namespace sickbay::diagnose {

inline constexpr std::size_t kMostExpression = 4096;  ///< bytes
inline constexpr int kMostExpressionDepth = 64;
inline constexpr std::size_t kMostBuiltText = std::size_t{4} << 20;  ///< characters that `+` may join

/// The logic above the atoms, in postfix order, so that it is walked with a small stack; between the sides of
/// a conjunction or a disjunction stands what leaves the second side out when the first one decides.
struct LogicNode {
  enum class Kind : std::uint8_t {
    atom,
    constant,
    negation,
    conjunction,
    disjunction,
    exclusive,
    choice,
    unless_no,   ///< when the top is false, go on behind `number`, the conjunction
    unless_yes,  ///< when it is true, behind the disjunction
  } kind;
  std::uint32_t number = 0;  ///< of an atom; of a constant: 0 or 1; of a node to go on behind
};
inline constexpr std::size_t kMostLogicStack = 4 * kMostExpressionDepth;  ///< that a walk needs
using LogicTree = std::vector<LogicNode>;

struct Atom {
  std::string text;                    ///< ECMAScript made from the tree, canonical: equal atoms are equal
  std::vector<std::string> variables;  ///< each once, in the order of the text
};
struct Expression {
  LogicTree tree;
  std::vector<Atom> atoms;
};

/// The type of a characteristic, or nothing: it does not exist.
using TypeOf = std::function<std::optional<ValueType>(std::string_view name)>;

/// Errors: bad_input; `what` ends in "at column N" of the text, with "did you mean" for a name where
/// one of `names` is near.
Result<Expression> parse_expression(std::string_view text, const TypeOf& type_of,
                                    const std::vector<std::string>& names);

}  // namespace sickbay::diagnose
