// SPDX-License-Identifier: Apache-2.0
// Json: the one JSON value type of the house.
//
// Objects keep the order of their members, so that a value has ONE text: dump() of equal values is equal
// byte for byte, which replay equality rests on (doc/design/decisions.md 13).  Integers are int64 and never
// pass through a double.  Each parsed value knows the offset of its first byte, so that a configuration
// error can name line and column.  nlohmann-json does the lexing and is seen only by json.cc.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace sickbay {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  // Not `= default`: clang 14 cannot yet know, inside the class, what the initialiser of value_ may throw.
  Json() : value_(nullptr) {}  ///< null
  Json(std::nullptr_t) {}
  Json(bool b) : value_(b) {}
  Json(int i) : value_(static_cast<std::int64_t>(i)) {}
  Json(unsigned i) : value_(static_cast<std::int64_t>(i)) {}
  Json(long i) : value_(static_cast<std::int64_t>(i)) {}
  Json(long long i) : value_(static_cast<std::int64_t>(i)) {}
  Json(unsigned long i) : value_(static_cast<std::int64_t>(i)) {}
  Json(unsigned long long i) : value_(static_cast<std::int64_t>(i)) {}
  Json(double d) : value_(d) {}
  Json(const char* s) : value_(std::string(s)) {}
  Json(std::string_view s) : value_(std::string(s)) {}
  Json(std::string s) : value_(std::move(s)) {}
  Json(Array a) : value_(std::move(a)) {}
  Json(Object o) : value_(std::move(o)) {}
  Json(const std::vector<std::string>& names);
  /// `Json::object({{"node", "n3"}, {"cpus", 4}})`
  static Json object(std::initializer_list<Member> members = {}) { return Json(Object(members)); }
  static Json array(std::initializer_list<Json> items = {}) { return Json(Array(items)); }

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  /// "null", "bool", "integer", "number", "string", "array" or "object": for messages.
  std::string_view type_name() const;

  // Lenient readers, for values that we wrote ourselves: the fallback where the type is another.
  bool as_bool(bool fallback = false) const;
  std::int64_t as_int(std::int64_t fallback = 0) const;
  double as_double(double fallback = 0) const;
  const std::string& as_string() const;  ///< "" for another type
  std::string_view as_string_or(std::string_view fallback) const;
  const Array& items() const;                   ///< empty for another type
  const Object& members() const;                ///< empty for another type
  std::vector<std::string> as_strings() const;  ///< the strings of an array

  /// The member `key` of an object, or null.  O(members).
  const Json& operator[](std::string_view key) const;
  const Json& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  bool has(std::string_view key) const;
  /// Sets or replaces a member; turns null into an object first.  O(log members) where many are set one after
  /// another.
  Json& set(std::string key, Json value);
  /// Appends to an array; turns null into an array first.
  Json& push(Json value);
  std::size_t size() const;

  /// The one text of this value: no spaces, members in order, UTF-8 (bytes that are not are replaced).
  std::string dump() const;
  /// The same with line breaks and two spaces a level, for people.
  std::string pretty() const;
  /// Offset of the first byte in the parsed text; 0 for values made in code.
  std::uint32_t offset() const { return offset_; }

  friend bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

  struct ParseOptions {
    bool comments = false;         ///< accept `//` and `/* */` (configuration files)
    bool unique_keys = true;       ///< a repeated key is an error
    int max_depth = 64;            ///< deeper nesting is an error
    std::string_view source = {};  ///< file name for messages: "FILE:LINE:COLUMN: ..."
  };
  /// Parses one JSON document (RFC 8259).  Errors: bad_input with line and column.
  static Result<Json> parse(std::string_view text, const ParseOptions& options);
  static Result<Json> parse(std::string_view text) { return parse(text, ParseOptions()); }

 private:
  friend class JsonBuilder;
  // Where the members of a wide object stand.  Only set() makes one, for what grows by foreign names must not
  // cost their square; small objects, which is most of them, do without.  A copy begins anew.
  struct Places {
    using Map = std::map<std::string, std::size_t, std::less<>>;
    std::unique_ptr<Map> map;
    Places() = default;
    Places(const Places&) {}
    Places(Places&&) noexcept = default;
    Places& operator=(const Places& other) {
      if (this != &other) map.reset();
      return *this;
    }
    Places& operator=(Places&&) noexcept = default;
  };
  const Member* find(std::string_view key) const;

  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> value_;
  Places places_;
  std::uint32_t offset_ = 0;
};

/// Line and column (both from 1) of a byte offset in `text`.
std::pair<int, int> line_and_column(std::string_view text, std::size_t offset);

}  // namespace sickbay
