// SPDX-License-Identifier: Apache-2.0
// The tree between the parser of expressions and what it makes of them.  For expression.cc alone.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "engine/diagnose/expression.h"

namespace sickbay::diagnose {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xffffffffu;

/// Which operands an operator takes.
enum class Take : std::uint8_t { logic, equality, order, numbers, sum, unary_logic, unary_number };
struct OperatorRow {
  std::string_view spelled;
  int binds;  // higher binds tighter; of a binary operator
  Take take;
  LogicNode::Kind logic;     // of logic
  std::string_view printed;  // ECMAScript
};
inline constexpr int kBindsNot = 4, kTightest = 13;

struct Node {
  enum class What : std::uint8_t {
    literal,
    characteristic,
    unary,
    binary,
    choice,
    math
  } what = What::literal;
  ValueClass value_class = ValueClass::number;
  const OperatorRow* op = nullptr;
  NodeId a = kNoNode, b = kNoNode, c = kNoNode;
  std::vector<NodeId> arguments;  // of math
  std::string_view name;          // of a characteristic or of Math's
  Value value;                    // of a literal
  std::optional<ValueType> type;  // of a characteristic
  std::size_t offset = 0;
  std::size_t most_text = 0;  // characters that it may have
};

/// What is above the atoms as logic, each atom as ECMAScript.  `root` gives a bool.
Expression write_expression(const std::vector<Node>& nodes, NodeId root);

}  // namespace sickbay::diagnose
