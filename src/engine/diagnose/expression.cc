// SPDX-License-Identifier: Apache-2.0
// A Pratt parser into the flat tree of expression_tree.h; each node is typed as it is made.  Nesting is
// bounded here; a chain such as a + b + c does not nest.
#include "engine/diagnose/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/spelling.h"
#include "base/text.h"
#include "engine/diagnose/expression_lexer.h"
#include "engine/diagnose/expression_tree.h"

namespace sickbay::diagnose {
namespace {

using Kind = LogicNode::Kind;
constexpr OperatorRow kBinary[] = {
    {"OR", 1, Take::logic, Kind::disjunction, "||"}, {"||", 1, Take::logic, Kind::disjunction, "||"},
    {"XOR", 2, Take::logic, Kind::exclusive, "!=="}, {"AND", 3, Take::logic, Kind::conjunction, "&&"},
    {"&&", 3, Take::logic, Kind::conjunction, "&&"}, {"|", 5, Take::numbers, Kind::atom, "|"},
    {"^", 6, Take::numbers, Kind::atom, "^"},        {"&", 7, Take::numbers, Kind::atom, "&"},
    {"==", 8, Take::equality, Kind::atom, "==="},    {"===", 8, Take::equality, Kind::atom, "==="},
    {"!=", 8, Take::equality, Kind::atom, "!=="},    {"!==", 8, Take::equality, Kind::atom, "!=="},
    {"<", 9, Take::order, Kind::atom, "<"},          {"<=", 9, Take::order, Kind::atom, "<="},
    {">", 9, Take::order, Kind::atom, ">"},          {">=", 9, Take::order, Kind::atom, ">="},
    {"<<", 10, Take::numbers, Kind::atom, "<<"},     {">>", 10, Take::numbers, Kind::atom, ">>"},
    {">>>", 10, Take::numbers, Kind::atom, ">>>"},   {"+", 11, Take::sum, Kind::atom, "+"},
    {"-", 11, Take::numbers, Kind::atom, "-"},       {"*", 12, Take::numbers, Kind::atom, "*"},
    {"/", 12, Take::numbers, Kind::atom, "/"},       {"%", 12, Take::numbers, Kind::atom, "%"},
};
constexpr OperatorRow kUnary[] = {
    {"NOT", kBindsNot, Take::unary_logic, Kind::negation, "!"},
    {"!", kTightest, Take::unary_logic, Kind::negation, "!"},
    {"-", kTightest, Take::unary_number, Kind::atom, "-"},
    {"+", kTightest, Take::unary_number, Kind::atom, "+"},
    {"~", kTightest, Take::unary_number, Kind::atom, "~"},
};
constexpr OperatorRow kChoice = {"?", 0, Take::logic, Kind::choice, "?"};

struct MathRow {
  std::string_view name;
  int least, most;  // arguments; 0, 0: a constant
};
constexpr MathRow kMath[] = {
    {"abs", 1, 1},    {"acos", 1, 1},  {"asin", 1, 1}, {"atan", 1, 1},    {"atan2", 2, 2},
    {"ceil", 1, 1},   {"cos", 1, 1},   {"exp", 1, 1},  {"floor", 1, 1},   {"log", 1, 1},
    {"max", 1, 64},   {"min", 1, 64},  {"pow", 2, 2},  {"round", 1, 1},   {"sin", 1, 1},
    {"sqrt", 1, 1},   {"tan", 1, 1},   {"E", 0, 0},    {"LN10", 0, 0},    {"LN2", 0, 0},
    {"LOG10E", 0, 0}, {"LOG2E", 0, 0}, {"PI", 0, 0},   {"SQRT1_2", 0, 0}, {"SQRT2", 0, 0},
};
constexpr std::string_view kOtherWords[] = {
    "new",    "delete", "typeof", "void",  "in",    "instanceof", "this", "null",    "function",
    "var",    "let",    "const",  "if",    "for",   "while",      "do",   "return",  "throw",
    "switch", "with",   "eval",   "yield", "await", "undefined",  "NaN",  "Infinity"};

std::string_view class_name(ValueClass c) {
  constexpr std::string_view kNames[] = {"a bool", "a number", "a text"};
  return kNames[static_cast<std::size_t>(c)];
}

class Parser {
 public:
  Parser(std::string_view text, const TypeOf& type_of, const std::vector<std::string>& names)
      : text_(text), type_of_(type_of), names_(names) {}

  Result<Expression> parse() {
    if (auto read = advance(); !read) return fail(read.error());
    if (token_.kind == Token::Kind::end) return refuse("an expression is missing", 0);
    auto root = parse_choice();
    if (!root) return fail(root.error());
    if (token_.kind != Token::Kind::end) return refuse(unexpected(), token_.offset);
    if (nodes_[*root].value_class != ValueClass::boolean)
      return refuse(
          fmt::format("a predicate must give a bool, not {}", class_name(nodes_[*root].value_class)),
          nodes_[*root].offset);
    return write_expression(nodes_, *root);
  }

 private:
  // Reading -----------------------------------------------------------------------------------------------
  Status advance() {
    auto token = next_token(text_, at_);
    if (!token) return fail(token.error());
    token_ = std::move(*token);
    return {};
  }
  bool is_sign(std::string_view sign) const {
    return token_.kind == Token::Kind::sign && token_.spelled == sign;
  }
  Status expect(std::string_view sign) {
    if (!is_sign(sign)) return refuse(fmt::format("'{}' is missing", sign), token_.offset);
    return advance();
  }
  std::string unexpected() const {
    if (is_sign("(")) return "a call is not allowed, but of Math's functions";
    if (is_sign(".")) return "a member is not allowed, but of Math's";
    if (is_sign(",")) return "a comma is not allowed outside the arguments of Math's functions";
    if (token_.kind == Token::Kind::name)
      for (const std::string_view word : kOtherWords)
        if (token_.spelled == word) return fmt::format("'{}' is not allowed", word);
    if (token_.kind == Token::Kind::end) return "the expression is cut short";
    std::string hint;
    for (const std::string_view word : {"AND", "OR", "XOR"})
      if (equal_ignoring_case(token_.spelled, word)) hint = fmt::format(" (did you mean '{}'?)", word);
    return fmt::format("an operator is missing before {}{}", quote_for_message(token_.spelled), hint);
  }

  struct Deeper {
    explicit Deeper(int& d) : depth(d) { ++depth; }
    ~Deeper() { --depth; }
    int& depth;
  };

  Result<NodeId> parse_choice() {
    const Deeper deeper(depth_);
    if (depth_ > kMostExpressionDepth)
      return refuse(fmt::format("nested deeper than {}", kMostExpressionDepth), token_.offset);
    auto condition = parse_binary(1);
    if (!condition || !is_sign("?")) return condition;
    const std::size_t offset = token_.offset;
    if (auto read = advance(); !read) return fail(read.error());
    auto yes = parse_choice();
    if (!yes) return yes;
    if (auto colon = expect(":"); !colon) return fail(colon.error());
    auto no = parse_choice();
    if (!no) return no;
    if (nodes_[*condition].value_class != ValueClass::boolean)
      return refuse("the condition before '?' must be a bool", offset);
    if (nodes_[*yes].value_class != nodes_[*no].value_class)
      return refuse("both sides of ':' must be of one type", offset);
    Node node;
    node.what = Node::What::choice;
    node.op = &kChoice;
    node.value_class = nodes_[*yes].value_class;
    node.a = *condition;
    node.b = *yes;
    node.c = *no;
    node.offset = offset;
    node.most_text = std::max(nodes_[*yes].most_text, nodes_[*no].most_text);
    return add(std::move(node));
  }

  Result<NodeId> parse_binary(int binds) {
    auto left = parse_unary(binds);
    while (left) {
      const OperatorRow* row = nullptr;
      if (token_.kind == Token::Kind::sign || token_.kind == Token::Kind::name)
        for (const OperatorRow& r : kBinary)
          if (r.spelled == token_.spelled) row = &r;
      if (row == nullptr || row->binds < binds) return left;
      const std::size_t offset = token_.offset;
      if (auto read = advance(); !read) return fail(read.error());
      auto right = parse_binary(row->binds + 1);
      if (!right) return right;
      left = join(*row, *left, *right, offset);
    }
    return left;
  }

  Result<NodeId> parse_unary(int binds) {
    const OperatorRow* row = nullptr;
    if (token_.kind == Token::Kind::sign || token_.kind == Token::Kind::name)
      for (const OperatorRow& r : kUnary)
        if (r.spelled == token_.spelled) row = &r;
    if (row == nullptr) return parse_primary();
    const Deeper deeper(depth_);
    if (depth_ > kMostExpressionDepth)
      return refuse(fmt::format("nested deeper than {}", kMostExpressionDepth), token_.offset);
    const std::size_t offset = token_.offset;
    if (row->binds < binds)
      return refuse("NOT behind an operator that binds tighter needs parentheses around it", offset);
    if (auto read = advance(); !read) return fail(read.error());
    auto operand = row->binds == kBindsNot ? parse_binary(kBindsNot) : parse_unary(kTightest);
    if (!operand) return operand;
    const ValueClass wanted = row->take == Take::unary_logic ? ValueClass::boolean : ValueClass::number;
    if (nodes_[*operand].value_class != wanted)
      return refuse(fmt::format("'{}' takes {}, not {}", row->spelled, class_name(wanted),
                                class_name(nodes_[*operand].value_class)),
                    offset);
    Node node;
    node.offset = offset;
    if (const Node& n = nodes_[*operand]; row->printed == "-" && n.what == Node::What::literal) {
      node.value = -std::get<double>(n.value);  // -1 is a constant, too
    } else {
      node.what = Node::What::unary;
      node.op = row;
      node.value_class = wanted;
      node.a = *operand;
    }
    return add(std::move(node));
  }

  Result<NodeId> parse_primary() {
    Node node;
    node.offset = token_.offset;
    if (token_.kind == Token::Kind::number) {
      node.value = token_.number;
      if (auto read = advance(); !read) return fail(read.error());
      return add(std::move(node));
    }
    if (token_.kind == Token::Kind::text) {
      node.value_class = ValueClass::text;
      node.most_text = count_characters(token_.text);
      node.value = std::move(token_.text);
      if (auto read = advance(); !read) return fail(read.error());
      return add(std::move(node));
    }
    if (is_sign("(")) {
      if (auto read = advance(); !read) return fail(read.error());
      auto inner = parse_choice();
      if (!inner) return inner;
      if (auto close = expect(")"); !close) return fail(close.error());
      return inner;
    }
    if (is_sign("/")) return refuse("a regular expression is not allowed", token_.offset);
    if (token_.kind != Token::Kind::name)
      return refuse(token_.kind == Token::Kind::end
                        ? "the expression is cut short"
                        : fmt::format("a value is missing before '{}'", token_.spelled),
                    token_.offset);
    const std::string_view name = token_.spelled;
    if (name == "Math") return parse_math();
    if (name == "true" || name == "false") {
      node.value_class = ValueClass::boolean;
      node.value = name == "true";
    } else if (const auto type = type_of_(name)) {
      node.what = Node::What::characteristic;
      node.name = name;
      node.type = type;
      node.value_class = type_row(*type).value_class;
      node.most_text = type_row(*type).most_characters;
    } else {
      return unknown_name(name);
    }
    if (auto read = advance(); !read) return fail(read.error());
    return add(std::move(node));
  }

  Result<NodeId> unknown_name(std::string_view name) const {
    for (const std::string_view word : kOtherWords)
      if (name == word) return refuse(fmt::format("'{}' is not allowed", word), token_.offset);
    for (const OperatorRow& row : kBinary)
      if (name == row.spelled)
        return refuse(fmt::format("a value is missing before '{}'", name), token_.offset);
    std::vector<std::string_view> words = {"AND", "OR", "XOR", "NOT", "Math", "true", "false"};
    words.insert(words.end(), names_.begin(), names_.end());
    const std::string near = did_you_mean(name, words);
    return refuse(fmt::format("no characteristic has the name {}{}", quote_for_message(name),
                              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)),
                  token_.offset);
  }

  Result<NodeId> parse_math() {
    Node node;
    node.what = Node::What::math;
    node.offset = token_.offset;
    if (auto read = advance(); !read) return fail(read.error());
    if (auto dot = expect("."); !dot) return fail(dot.error());
    const MathRow* row = nullptr;
    std::vector<std::string_view> known;
    for (const MathRow& r : kMath) {
      known.push_back(r.name);
      if (r.name == token_.spelled) row = &r;
    }
    if (row == nullptr) {
      if (token_.spelled == "random")
        return refuse("Math.random is not allowed: a predicate must say the same again", token_.offset);
      const std::string near = did_you_mean(token_.spelled, known);
      return refuse(fmt::format("Math has no {}{}", quote_for_message(token_.spelled),
                                near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)),
                    token_.offset);
    }
    node.name = row->name;
    if (auto read = advance(); !read) return fail(read.error());
    if (row->most == 0) return add(std::move(node));
    if (auto open = expect("("); !open) return fail(open.error());
    while (!is_sign(")")) {
      if (!node.arguments.empty())
        if (auto comma = expect(","); !comma) return fail(comma.error());
      auto argument = parse_choice();
      if (!argument) return argument;
      if (nodes_[*argument].value_class != ValueClass::number)
        return refuse(fmt::format("Math.{} takes numbers, not {}", row->name,
                                  class_name(nodes_[*argument].value_class)),
                      nodes_[*argument].offset);
      node.arguments.push_back(*argument);
    }
    const int count = static_cast<int>(node.arguments.size());
    if (count < row->least || count > row->most)
      return refuse(fmt::format("Math.{} takes {} argument{}, not {}", row->name,
                                row->most > 2 ? fmt::format("{} to {}", row->least, row->most)
                                              : fmt::format("{}", row->least),
                                row->most == 1 ? "" : "s", count),
                    node.offset);
    if (auto close = advance(); !close) return fail(close.error());
    return add(std::move(node));
  }

  NodeId add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<NodeId>(nodes_.size() - 1);
  }

  // Types -------------------------------------------------------------------------------------------------
  Result<NodeId> join(const OperatorRow& row, NodeId a, NodeId b, std::size_t offset) {
    const Node &left = nodes_[a], &right = nodes_[b];
    const ValueClass l = left.value_class, r = right.value_class;
    Node node;
    node.what = Node::What::binary;
    node.op = &row;
    node.a = a;
    node.b = b;
    node.offset = offset;
    const auto both = [&](ValueClass c) { return l == c && r == c; };
    switch (row.take) {
      case Take::logic:
        if (!both(ValueClass::boolean))
          return refuse(
              fmt::format("'{}' joins bools, not {} and {}", row.spelled, class_name(l), class_name(r)),
              offset);
        node.value_class = ValueClass::boolean;
        break;
      case Take::numbers:
        if (!both(ValueClass::number)) {
          const std::string_view word = row.spelled == "&" ? "AND" : row.spelled == "|" ? "OR" : "XOR";
          const bool meant_logic = both(ValueClass::boolean) &&
                                   std::string_view("&|^").find(row.spelled) != std::string_view::npos;
          return refuse(
              fmt::format("'{}' takes numbers, not {} and {}{}", row.spelled, class_name(l), class_name(r),
                          meant_logic ? fmt::format(" (did you mean {}?)", word) : ""),
              offset);
        }
        break;
      case Take::sum:
        if (both(ValueClass::text)) {
          node.value_class = ValueClass::text;
          node.most_text = left.most_text + right.most_text;
          if (node.most_text > kMostBuiltText)
            return refuse(fmt::format("'+' could build a text of {} characters, the bound is {}",
                                      node.most_text, kMostBuiltText),
                          offset);
        } else if (!both(ValueClass::number)) {
          return refuse(
              fmt::format("'+' takes two numbers or two texts, not {} and {}", class_name(l), class_name(r)),
              offset);
        }
        break;
      case Take::order:
      case Take::equality: {
        if (l != r || (row.take == Take::order && l == ValueClass::boolean))
          return refuse(fmt::format("'{}' compares {} with {}{}", row.spelled, described(left),
                                    described(right), l == r ? "" : ": both sides must be of one type"),
                        offset);
        for (const auto& [z, other] : {std::pair(&left, &right), std::pair(&right, &left)})
          if (const std::string wrong = never_holds(*z, *other, row.take); !wrong.empty())
            return refuse(wrong, offset);
        node.value_class = ValueClass::boolean;
        break;
      }
      case Take::unary_logic:
      case Take::unary_number:
        break;
    }
    return add(std::move(node));
  }

  static std::string described(const Node& node) {
    if (node.type) return fmt::format("{} ({})", node.name, to_string(*node.type));
    return std::string(class_name(node.value_class));
  }

  // A constant that a characteristic's type cannot hold.
  static std::string never_holds(const Node& z, const Node& constant, Take take) {
    if (!z.type || constant.what != Node::What::literal) return "";
    if (const auto* number = std::get_if<double>(&constant.value)) {
      if (*z.type == ValueType::percent && (*number < 0 || *number > 100))
        return fmt::format("{} is a percent, 0 to 100, and is compared with {}", z.name, *number);
      if (take == Take::equality && *z.type != ValueType::fraction && std::floor(*number) != *number)
        return fmt::format("{} is {} and never equal to {}", z.name, type_row(*z.type).range, *number);
    } else if (std::holds_alternative<std::string>(constant.value) && take == Take::equality) {
      const std::size_t n = constant.most_text;
      if (n > type_row(*z.type).most_characters || (*z.type == ValueType::character && n != 1))
        return fmt::format("{} is {} and is compared with a text of {} characters", z.name,
                           type_row(*z.type).range, n);
    }
    return "";
  }

  std::string_view text_;
  const TypeOf& type_of_;
  const std::vector<std::string>& names_;
  std::vector<Node> nodes_;
  Token token_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Expression> parse_expression(std::string_view text, const TypeOf& type_of,
                                    const std::vector<std::string>& names) {
  if (text.size() > kMostExpression)
    return refuse(
        fmt::format("an expression of {} bytes is over the bound of {}", text.size(), kMostExpression),
        kMostExpression);
  return Parser(text, type_of, names).parse();
}

}  // namespace sickbay::diagnose
