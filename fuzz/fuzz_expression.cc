// SPDX-License-Identifier: Apache-2.0
// Expressions: what the list of what is allowed lets through compiles, gives a bool in bounded time and
// memory, and has one canonical text.
#include "adapters/duktape/duktape_predicates.h"
#include "engine/diagnose/expression.h"
#include "property.h"

namespace {

using namespace sickbay;

std::optional<ValueType> type_of(std::string_view name) {
  if (name.size() != 1) return std::nullopt;
  switch (name[0]) {
    case 'b':
      return ValueType::boolean;
    case 'n':
      return ValueType::integer;
    case 'f':
      return ValueType::fraction;
    case 'p':
      return ValueType::percent;
    case 's':
      return ValueType::string;
    case 't':
      return ValueType::text;
  }
  return std::nullopt;
}

Value value_of(std::string_view name) {
  switch (*type_of(name)) {
    case ValueType::boolean:
      return true;
    case ValueType::fraction:
      return 0.5;
    case ValueType::integer:
    case ValueType::percent:
      return std::int64_t{7};
    case ValueType::character:
    case ValueType::string:
    case ValueType::text:
      break;
  }
  return std::string("a\xC3\xA9\xF0\x9F\x98\x80");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay::diagnose;
  const auto expression =
      parse_expression(fuzz::as_text(bytes, size), type_of, {"b", "n", "f", "p", "s", "t"});
  if (!expression) {
    fuzz::check_refusal(expression.error());
    return 0;
  }
  SB_CHECK(!expression->tree.empty(), "an expression has a truth");
  // A fresh heap would cost more than the rest; what one predicate leaves is its own to be freed.
  static DuktapePredicates compiler;
  for (const Atom& atom : expression->atoms) {
    auto predicate = compiler.compile(atom.text, atom.variables);
    SB_CHECK(predicate.has_value(), "what is allowed compiles");
    std::vector<Value> values;
    std::vector<const Value*> pointers;
    for (const std::string& name : atom.variables) values.push_back(value_of(name));
    for (const Value& value : values) pointers.push_back(&value);
    SB_CHECK((*predicate)->evaluate(pointers).has_value(), "and gives a bool");
    const auto again = parse_expression(atom.text, type_of, {});
    // All its parentheses are written, so that it may be nested deeper than people may nest.
    SB_CHECK(again ? again->atoms.size() == 1 && again->atoms[0].text == atom.text
                   : again.error().what.find("nested deeper") != std::string::npos,
             "its text is canonical");
  }
  return 0;
}
