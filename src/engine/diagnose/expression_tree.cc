// SPDX-License-Identifier: Apache-2.0
// Chains such as a + b + c make the tree deep on its left side, where these functions recurse once for each
// of at most kMostExpression bytes.
#include "engine/diagnose/expression_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/diagnose/expression_lexer.h"

namespace sickbay::diagnose {
namespace {

using Kind = LogicNode::Kind;

// Of finite numbers these may make one that is none (0/0, 1/0, the root of -1).  Compared, that would be
// false, or with != true, where nobody knows; so Math.known (ports/predicate.h) has it fail, and the atom is
// unknown.
constexpr std::string_view kKnown = "Math.known(";
constexpr std::string_view kMayGiveNone[] = {"acos", "asin", "exp", "log", "pow", "sqrt", "tan"};

bool may_give_none(const std::vector<Node>& nodes, const Node& node) {
  if (node.what == Node::What::math)
    return std::ranges::find(kMayGiveNone, node.name) != std::end(kMayGiveNone);
  if (node.what != Node::What::binary || (node.op->printed != "/" && node.op->printed != "%")) return false;
  const auto* by = std::get_if<double>(&nodes[node.b].value);
  return nodes[node.b].what != Node::What::literal || by == nullptr || *by == 0;
}

class Writer {
 public:
  explicit Writer(const std::vector<Node>& nodes) : nodes_(nodes) {}

  void build(NodeId id, Expression& out) {
    const Node& node = nodes_[id];
    const auto logic = [&](Kind k) { out.tree.push_back({k, 0}); };
    if (node.what == Node::What::literal) {
      out.tree.push_back({Kind::constant, std::get<bool>(node.value) ? 1u : 0u});
      return;
    }
    // (Of bools, === is "not exclusive", so that a == b is unknown only where a or b is.)
    const bool bools = node.what == Node::What::binary && node.op->take == Take::equality &&
                       nodes_[node.a].value_class == ValueClass::boolean;
    if (bools || (node.op != nullptr && node.op->logic != Kind::atom)) {
      const Kind kind = bools ? Kind::exclusive : node.op->logic;
      build(node.a, out);
      const std::size_t jump = out.tree.size();
      if (kind == Kind::conjunction) logic(Kind::unless_no);
      if (kind == Kind::disjunction) logic(Kind::unless_yes);
      if (node.b != kNoNode) build(node.b, out);
      if (node.c != kNoNode) build(node.c, out);
      if (kind == Kind::conjunction || kind == Kind::disjunction)
        out.tree[jump].number = static_cast<std::uint32_t>(out.tree.size());
      logic(kind);
      if (bools && node.op->printed == "===") logic(Kind::negation);
      return;
    }
    Atom atom;
    print(id, 0, atom);
    const auto same = std::ranges::find(out.atoms, atom.text, &Atom::text);
    out.tree.push_back({Kind::atom, static_cast<std::uint32_t>(same - out.atoms.begin())});
    if (same == out.atoms.end()) out.atoms.push_back(std::move(atom));
  }

  // Parentheses stand only where the tree needs them, so that chains stay flat for the interpreter.
  void print(NodeId id, int binds, Atom& out) const {
    const Node& node = nodes_[id];
    std::string& text = out.text;
    switch (node.what) {
      case Node::What::literal:
        if (const auto* b = std::get_if<bool>(&node.value))
          text += *b ? "true" : "false";
        else if (const auto* s = std::get_if<std::string>(&node.value))
          text += text_literal(*s);
        else if (const double d = std::get<double>(node.value); std::signbit(d))
          text += fmt::format("({})", d);
        else
          text += fmt::format("{}", d);
        break;
      case Node::What::characteristic:
        text += node.name;
        if (std::ranges::find(out.variables, node.name) == out.variables.end())
          out.variables.emplace_back(node.name);
        break;
      case Node::What::math: {
        const bool check = may_give_none(nodes_, node);
        text += fmt::format("{}Math.{}", check ? kKnown : "", node.name);
        if (node.arguments.empty()) break;
        char before = '(';
        for (const NodeId argument : node.arguments) {
          text += before;
          print(argument, 0, out);
          before = ',';
        }
        text += check ? "))" : ")";
        break;
      }
      case Node::What::unary:
        text += fmt::format("({}", node.op->printed);
        print(node.a, kTightest + 1, out);
        text += ')';
        break;
      case Node::What::choice:
        text += '(';
        print(node.a, 1, out);
        text += '?';
        print(node.b, 0, out);
        text += ':';
        print(node.c, 0, out);
        text += ')';
        break;
      case Node::What::binary: {
        // Among bools, XOR, == and != are ===/!==, which bind tighter than the words do: always in
        // parentheses, as are their operands.
        const bool is_xor =
            node.op->logic == Kind::exclusive ||
            (node.op->take == Take::equality && nodes_[node.a].value_class == ValueClass::boolean);
        const int mine = is_xor ? kTightest : node.op->binds;
        const bool check = may_give_none(nodes_, node);
        const bool open = check || is_xor || mine < binds;
        if (open) text += check ? kKnown : "(";
        print(node.a, mine, out);
        text += node.op->printed;
        print(node.b, mine + 1, out);
        if (open) text += ')';
        break;
      }
    }
  }

 private:
  const std::vector<Node>& nodes_;
};

}  // namespace

Expression write_expression(const std::vector<Node>& nodes, NodeId root) {
  Expression expression;
  Writer(nodes).build(root, expression);
  return expression;
}

}  // namespace sickbay::diagnose
