// SPDX-License-Identifier: Apache-2.0
#include "model/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace sickbay {
namespace {

constexpr bool rows_follow_enum() {
  for (std::size_t i = 0; i < kValueTypes.size(); ++i)
    if (static_cast<std::size_t>(kValueTypes[i].type) != i) return false;
  return true;
}
static_assert(rows_follow_enum(), "one row per ValueType, in its order");

// What was there instead: the value where it is short, else its type.
std::string shown(const Json& json) {
  if (json.is_string()) {
    const std::size_t n = count_characters(json.as_string());
    return n > 40 ? fmt::format("a text of {} characters", n) : quote_for_message(json.as_string());
  }
  if (json.is_array() || json.is_object()) return fmt::format("an {}", json.type_name());
  return json.dump();
}

tl::unexpected<Error> wrong(const Json& json, ValueType type) {
  return fail(ErrorCode::bad_input, fmt::format("must be {}, not {}", type_row(type).range, shown(json)));
}

// A whole number that was written as one or as 1e3.
std::optional<std::int64_t> whole(const Json& json) {
  if (!json.is_number()) return std::nullopt;
  if (!json.is_int() && (std::floor(json.as_double()) != json.as_double() ||
                         std::fabs(json.as_double()) > static_cast<double>(kMostInteger)))
    return std::nullopt;
  const std::int64_t i = json.is_int() ? json.as_int() : static_cast<std::int64_t>(json.as_double());
  if (i > kMostInteger || i < -kMostInteger) return std::nullopt;
  return i;
}

std::string valid_utf8(const std::string& bytes) {
  std::string text;
  for (std::string_view rest = bytes; !rest.empty();) {
    const Rune rune = next_rune(rest);
    text += rune.valid ? rest.substr(0, rune.bytes) : "\xEF\xBF\xBD";
    rest.remove_prefix(rune.bytes);
  }
  return text;
}

}  // namespace

std::optional<ValueType> parse_value_type(std::string_view name) {
  const auto row = std::ranges::find(kValueTypes, name, &ValueTypeRow::name);
  if (row == kValueTypes.end()) return std::nullopt;
  return row->type;
}

std::size_t count_characters(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

Result<Value> value_from_json(const Json& json, ValueType type) {
  switch (type) {
    case ValueType::boolean:
      if (!json.is_bool()) return wrong(json, type);
      return json.as_bool();
    case ValueType::integer:
    case ValueType::percent: {
      const auto i = whole(json);
      if (!i || (type == ValueType::percent && (*i < 0 || *i > 100))) return wrong(json, type);
      return *i;
    }
    case ValueType::fraction:
      if (!json.is_number() || !std::isfinite(json.as_double())) return wrong(json, type);
      return json.as_double();
    case ValueType::character:
    case ValueType::string:
    case ValueType::text:
      break;
  }
  if (!json.is_string()) return wrong(json, type);
  // Bytes first: what is much too long need not be looked through.
  const std::size_t most = type_row(type).most_characters;
  if (json.as_string().size() > 4 * most) return wrong(json, type);
  std::string text = valid_utf8(json.as_string());
  const std::size_t n = count_characters(text);
  if (n > most || (type == ValueType::character && n != 1)) return wrong(json, type);
  return text;
}

Json to_json(const Value& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

}  // namespace sickbay
