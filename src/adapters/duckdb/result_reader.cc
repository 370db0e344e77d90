// SPDX-License-Identifier: Apache-2.0
#include "adapters/duckdb/result_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "base/time.h"

namespace sickbay::duck {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

using Logical = std::unique_ptr<_duckdb_logical_type, void (*)(duckdb_logical_type)>;
Logical owned(duckdb_logical_type type) {
  return {type, [](duckdb_logical_type t) { lib.duckdb_destroy_logical_type(&t); }};
}

std::string taken(char* text) {
  std::string copy = text ? text : "";
  lib.duckdb_free(text);
  return copy;
}

template <class T>
T stored(duckdb_vector vector, std::uint64_t row) {
  return static_cast<const T*>(lib.duckdb_vector_get_data(vector))[row];
}

// 128 bits as two halves: an integer where it fits, else the nearest real.
Value whole(duckdb_hugeint n) {
  if (n.upper == (static_cast<std::int64_t>(n.lower) < 0 ? -1 : 0)) return static_cast<std::int64_t>(n.lower);
  return lib.duckdb_hugeint_to_double(n);
}

Value whole(std::uint64_t n) {
  if (n <= static_cast<std::uint64_t>(kLargest)) return static_cast<std::int64_t>(n);
  return static_cast<double>(n);
}

// A float as the double of its shortest text: 0.1f is 0.1, not 0.10000000149.
double widened(float f) {
  if (!std::isfinite(f)) return f;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, f).ptr;
  double d = f;
  std::from_chars(text, end, d);
  return d;
}

// An integer column of any width; DECIMAL and ENUM keep theirs so, too.
std::optional<Value> integer_at(duckdb_type type, duckdb_vector v, std::uint64_t row) {
  switch (type) {
    case DUCKDB_TYPE_TINYINT:
      return std::int64_t{stored<std::int8_t>(v, row)};
    case DUCKDB_TYPE_SMALLINT:
      return std::int64_t{stored<std::int16_t>(v, row)};
    case DUCKDB_TYPE_INTEGER:
      return std::int64_t{stored<std::int32_t>(v, row)};
    case DUCKDB_TYPE_BIGINT:
      return stored<std::int64_t>(v, row);
    case DUCKDB_TYPE_UTINYINT:
      return std::int64_t{stored<std::uint8_t>(v, row)};
    case DUCKDB_TYPE_USMALLINT:
      return std::int64_t{stored<std::uint16_t>(v, row)};
    case DUCKDB_TYPE_UINTEGER:
      return std::int64_t{stored<std::uint32_t>(v, row)};
    case DUCKDB_TYPE_UBIGINT:
      return whole(stored<std::uint64_t>(v, row));
    case DUCKDB_TYPE_HUGEINT:
      return whole(stored<duckdb_hugeint>(v, row));
    case DUCKDB_TYPE_UHUGEINT: {
      const auto n = stored<duckdb_uhugeint>(v, row);
      return n.upper == 0 ? whole(n.lower) : Value(lib.duckdb_uhugeint_to_double(n));
    }
    default:
      return std::nullopt;
  }
}

Value decimal_at(const TypeTree& type, duckdb_vector v, std::uint64_t row) {
  const Value n = integer_at(type.stored, v, row).value_or(Value());
  if (type.scale == 0) return n;
  const auto* i = std::get_if<std::int64_t>(&n);
  const double d = i ? static_cast<double>(*i) : std::get<double>(n);
  return d / std::pow(10.0, type.scale);
}

std::string date_text(std::int32_t days) {
  if (days == std::numeric_limits<std::int32_t>::max()) return "infinity";
  if (days == -std::numeric_limits<std::int32_t>::max()) return "-infinity";
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

// "04:05:06" or "04:05:06.5"; hours may be more than 24.
std::string clock_text(std::int64_t micros) {
  const std::int64_t seconds = micros / 1'000'000, rest = micros % 1'000'000;
  std::string text = fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (rest == 0) return text;
  text += fmt::format(".{:06}", rest);
  while (text.back() == '0') text.pop_back();
  return text;
}

// As DuckDB prints it: "1 year 2 months 3 days 04:05:06".
std::string interval_text(duckdb_interval i) {
  std::string text;
  const auto add = [&](std::int32_t n, const char* unit) {
    if (n != 0) text += fmt::format("{}{} {}{}", text.empty() ? "" : " ", n, unit, n == 1 ? "" : "s");
  };
  add(i.months / 12, "year");
  add(i.months % 12, "month");
  add(i.days, "day");
  if (i.micros == 0 && !text.empty()) return text;
  if (!text.empty()) text += ' ';
  return text + (i.micros < 0 ? "-" : "") + clock_text(i.micros < 0 ? -i.micros : i.micros);
}

std::string uuid_text(duckdb_hugeint n) {
  const auto high =
      static_cast<std::uint64_t>(n.upper) ^ (std::uint64_t{1} << 63);  // stored so that it sorts
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff, high & 0xffff,
                     n.lower >> 48, n.lower & 0xffffffffffff);
}

std::string_view text_at(duckdb_vector v, std::uint64_t row) {
  const auto* text = static_cast<const duckdb_string_t*>(lib.duckdb_vector_get_data(v)) + row;
  const std::uint32_t length = text->value.inlined.length;
  return {length <= 12 ? text->value.inlined.inlined : text->value.pointer.ptr, length};
}

std::string blob_text(std::string_view bytes) {
  std::string text;
  for (const char c : bytes)
    if (c >= ' ' && c <= '~' && c != '\\')
      text += c;
    else
      text += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
  return text;
}

Value time_of(std::int64_t count, std::int64_t per_micro_times, std::int64_t divided_by) {
  if (count == kLargest) return std::string("infinity");
  if (count == -kLargest) return std::string("-infinity");
  if (divided_by > 1) return count / divided_by - (count % divided_by < 0 ? 1 : 0);
  std::int64_t micros = 0;
  if (__builtin_mul_overflow(count, per_micro_times, &micros))  // hundreds of thousands of years away
    return std::string(count < 0 ? "-infinity" : "infinity");
  return micros;
}

bool is_null(duckdb_vector v, std::uint64_t row) {
  const std::uint64_t* validity = lib.duckdb_vector_get_validity(v);
  return validity != nullptr && (validity[row / 64] >> (row % 64) & 1) == 0;
}

Json json_at(const TypeTree& type, duckdb_vector v, std::uint64_t row);

Json json_items(const TypeTree& type, duckdb_vector child, std::uint64_t from, std::uint64_t count) {
  Json items = Json::array();
  for (std::uint64_t i = 0; i < count; ++i) items.push(json_at(type, child, from + i));
  return items;
}

// The JSON of a value within a list or a struct.
Json json_at(const TypeTree& type, duckdb_vector v, std::uint64_t row) {
  if (is_null(v, row)) return {};
  switch (type.id) {
    case DUCKDB_TYPE_LIST: {
      const auto entry = stored<duckdb_list_entry>(v, row);
      return json_items(type.children[0], lib.duckdb_list_vector_get_child(v), entry.offset, entry.length);
    }
    case DUCKDB_TYPE_ARRAY:
      return json_items(type.children[0], lib.duckdb_array_vector_get_child(v), row * type.length,
                        type.length);
    case DUCKDB_TYPE_MAP: {  // a list of structs {key, value}
      const auto entry = stored<duckdb_list_entry>(v, row);
      duckdb_vector pairs = lib.duckdb_list_vector_get_child(v);
      duckdb_vector keys = lib.duckdb_struct_vector_get_child(pairs, 0);
      duckdb_vector values = lib.duckdb_struct_vector_get_child(pairs, 1);
      Json object = Json::object();
      for (std::uint64_t i = entry.offset; i < entry.offset + entry.length; ++i) {
        const Json key = json_at(type.children[0], keys, i);
        object.set(key.is_string() ? key.as_string() : key.dump(), json_at(type.children[1], values, i));
      }
      return object;
    }
    case DUCKDB_TYPE_STRUCT: {
      Json object = Json::object();
      for (std::size_t i = 0; i < type.children.size(); ++i)
        object.set(type.names[i], json_at(type.children[i], lib.duckdb_struct_vector_get_child(v, i), row));
      return object;
    }
    default:
      break;
  }
  const Value value = value_at(type, v, row);
  if (const auto* i = std::get_if<std::int64_t>(&value))
    return type.shown() == Type::time ? Json(format_time(from_micros(*i))) : Json(*i);
  if (const auto* d = std::get_if<double>(&value)) return std::isfinite(*d) ? Json(*d) : Json();
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  return std::get<std::string>(value);
}

}  // namespace

Result<TypeTree> TypeTree::of(duckdb_logical_type type) {
  TypeTree tree;
  tree.id = lib.duckdb_get_type_id(type);
  const auto add = [&](duckdb_logical_type child) -> Status {
    const Logical owner = owned(child);
    auto made = of(child);
    if (!made) return fail(made.error());
    tree.children.push_back(std::move(*made));
    return {};
  };
  Status added;
  switch (tree.id) {
    case DUCKDB_TYPE_DECIMAL:
      tree.scale = lib.duckdb_decimal_scale(type);
      tree.stored = lib.duckdb_decimal_internal_type(type);
      break;
    case DUCKDB_TYPE_ENUM:
      tree.stored = lib.duckdb_enum_internal_type(type);
      for (std::uint32_t i = 0; i < lib.duckdb_enum_dictionary_size(type); ++i)
        tree.names.push_back(taken(lib.duckdb_enum_dictionary_value(type, i)));
      break;
    case DUCKDB_TYPE_LIST:
      added = add(lib.duckdb_list_type_child_type(type));
      break;
    case DUCKDB_TYPE_ARRAY:
      tree.length = lib.duckdb_array_type_array_size(type);
      added = add(lib.duckdb_array_type_child_type(type));
      break;
    case DUCKDB_TYPE_MAP:
      added = add(lib.duckdb_map_type_key_type(type));
      if (added) added = add(lib.duckdb_map_type_value_type(type));
      break;
    case DUCKDB_TYPE_STRUCT:
      for (idx_t i = 0; added && i < lib.duckdb_struct_type_child_count(type); ++i) {
        tree.names.push_back(taken(lib.duckdb_struct_type_child_name(type, i)));
        added = add(lib.duckdb_struct_type_child_type(type, i));
      }
      break;
    case DUCKDB_TYPE_INVALID:
    case DUCKDB_TYPE_BIT:
    case DUCKDB_TYPE_UNION:
    case DUCKDB_TYPE_TIME_TZ:
    case DUCKDB_TYPE_TIME_NS:
    case DUCKDB_TYPE_ANY:
    case DUCKDB_TYPE_BIGNUM:
      added = fail(Error(ErrorCode::bad_input, "the result has a column of a type that is not shown")
                       .because(fmt::format("DuckDB's type number {}", static_cast<int>(tree.id)))
                       .remedied_by("make it text in the SQL: CAST(... AS VARCHAR)"));
      break;
    default:
      break;
  }
  if (!added) return fail(added.error());
  return tree;
}

Type TypeTree::shown() const {
  switch (id) {
    case DUCKDB_TYPE_BOOLEAN:
      return Type::boolean;
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE:
      return Type::real;
    case DUCKDB_TYPE_DECIMAL:
      return scale == 0 ? Type::integer : Type::real;
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_UHUGEINT:
      return Type::integer;
    case DUCKDB_TYPE_TIMESTAMP:
    case DUCKDB_TYPE_TIMESTAMP_S:
    case DUCKDB_TYPE_TIMESTAMP_MS:
    case DUCKDB_TYPE_TIMESTAMP_NS:
    case DUCKDB_TYPE_TIMESTAMP_TZ:
      return Type::time;
    default:
      return Type::text;
  }
}

Value value_at(const TypeTree& type, duckdb_vector v, std::uint64_t row) {
  if (is_null(v, row)) return std::monostate();
  if (const auto n = integer_at(type.id, v, row)) return *n;
  switch (type.id) {
    case DUCKDB_TYPE_VARCHAR:
      return std::string(text_at(v, row));
    case DUCKDB_TYPE_DOUBLE:
      return stored<double>(v, row);
    case DUCKDB_TYPE_FLOAT:
      return widened(stored<float>(v, row));
    case DUCKDB_TYPE_BOOLEAN:
      return stored<bool>(v, row);
    case DUCKDB_TYPE_TIMESTAMP:
    case DUCKDB_TYPE_TIMESTAMP_TZ:
      return time_of(stored<std::int64_t>(v, row), 1, 1);
    case DUCKDB_TYPE_TIMESTAMP_S:
      return time_of(stored<std::int64_t>(v, row), 1'000'000, 1);
    case DUCKDB_TYPE_TIMESTAMP_MS:
      return time_of(stored<std::int64_t>(v, row), 1'000, 1);
    case DUCKDB_TYPE_TIMESTAMP_NS:
      return time_of(stored<std::int64_t>(v, row), 1, 1'000);
    case DUCKDB_TYPE_DATE:
      return date_text(stored<std::int32_t>(v, row));
    case DUCKDB_TYPE_TIME:
      return clock_text(stored<std::int64_t>(v, row));
    case DUCKDB_TYPE_INTERVAL:
      return interval_text(stored<duckdb_interval>(v, row));
    case DUCKDB_TYPE_DECIMAL:
      return decimal_at(type, v, row);
    case DUCKDB_TYPE_UUID:
      return uuid_text(stored<duckdb_hugeint>(v, row));
    case DUCKDB_TYPE_BLOB:
      return blob_text(text_at(v, row));
    case DUCKDB_TYPE_ENUM:
      return type.names[static_cast<std::size_t>(
          std::get<std::int64_t>(integer_at(type.stored, v, row).value_or(std::int64_t{0})))];
    case DUCKDB_TYPE_LIST:
    case DUCKDB_TYPE_ARRAY:
    case DUCKDB_TYPE_MAP:
    case DUCKDB_TYPE_STRUCT:
      return json_at(type, v, row).dump();
    default:
      return std::monostate();
  }
}

}  // namespace sickbay::duck
