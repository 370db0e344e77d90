// SPDX-License-Identifier: Apache-2.0
// Value: what a characteristic of a node may hold, and the types of it (the set T of the paper).
//
// Three kinds of content, seven types: the types bound the content.  Integers stay within 2^53, so that the
// numbers of ECMAScript, in which predicates are written, hold each of them exactly.
// Source: doc/design/diagnose.md; paper 001, set T.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "base/result.h"

namespace sickbay {

enum class ValueType : std::uint8_t { boolean, integer, fraction, percent, character, string, text };

/// bool, integer, fraction or any of the texts; a Value does not know its type, a characteristic does.
using Value = std::variant<bool, std::int64_t, double, std::string>;

/// What an expression may do with a value: bools, numbers and texts never meet.
enum class ValueClass : std::uint8_t { boolean, number, text };

struct ValueTypeRow {
  ValueType type;
  std::string_view name;  ///< as in a specification
  ValueClass value_class;
  std::size_t most_characters;  ///< of a text; 0: no text
  std::string_view range;       ///< for messages and pages
};
/// The greatest integer of a specification: a double holds each up to it.
inline constexpr std::int64_t kMostInteger = std::int64_t{1} << 53;
inline constexpr auto kValueTypes = std::to_array<ValueTypeRow>({
    {ValueType::boolean, "bool", ValueClass::boolean, 0, "true or false"},
    {ValueType::integer, "integer", ValueClass::number, 0, "a whole number within 2^53"},
    {ValueType::fraction, "fraction", ValueClass::number, 0, "a number"},
    {ValueType::percent, "percent", ValueClass::number, 0, "a whole number from 0 to 100"},
    {ValueType::character, "char", ValueClass::text, 1, "one character"},
    {ValueType::string, "string", ValueClass::text, 256, "a text of at most 256 characters"},
    {ValueType::text, "text", ValueClass::text, std::size_t{1} << 20, "a text of at most 2^20 characters"},
});

constexpr const ValueTypeRow& type_row(ValueType type) { return kValueTypes[static_cast<std::size_t>(type)]; }
constexpr std::string_view to_string(ValueType type) { return type_row(type).name; }
std::optional<ValueType> parse_value_type(std::string_view name);

/// The value of `type` that `json` holds.  A whole number written as 1e3 is an integer; a fraction takes any
/// number; nothing else is converted.  Bytes of a text that are no UTF-8 become U+FFFD.
/// Errors: bad_input; `what` begins with "must be" and names both, such as "must be a whole number from 0 to
/// 100, not 140", so that the caller puts the name of the characteristic before it.
Result<Value> value_from_json(const Json& json, ValueType type);
Json to_json(const Value& value);

/// Unicode characters of a valid UTF-8 text.
std::size_t count_characters(std::string_view utf8);

}  // namespace sickbay
