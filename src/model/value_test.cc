// SPDX-License-Identifier: Apache-2.0
#include "model/value.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Value, TakesWhatItsTypeHoldsAndNamesWhatItDoesNot) {
  const std::string string256(256, 'x'), text(kValueTypes[6].most_characters, 'x');
  const struct {
    Json json;
    ValueType type;
    const char* error;  // "" where it is taken
  } rows[] = {
      {true, ValueType::boolean, ""},
      {1, ValueType::boolean, "must be true or false, not 1"},
      {Json(), ValueType::boolean, "must be true or false, not null"},

      {-3, ValueType::integer, ""},
      {1e3, ValueType::integer, ""},
      {kMostInteger, ValueType::integer, ""},
      {-kMostInteger - 1, ValueType::integer, "must be a whole number within 2^53, not -9007199254740993"},
      {1.5, ValueType::integer, "must be a whole number within 2^53, not 1.5"},
      {1e300, ValueType::integer, "must be a whole number within 2^53, not 1e+300"},
      {"5", ValueType::integer, "must be a whole number within 2^53, not '5'"},

      {3, ValueType::fraction, ""},
      {0.25, ValueType::fraction, ""},
      {true, ValueType::fraction, "must be a number, not true"},

      {0, ValueType::percent, ""},
      {100, ValueType::percent, ""},
      {140, ValueType::percent, "must be a whole number from 0 to 100, not 140"},
      {-1, ValueType::percent, "must be a whole number from 0 to 100, not -1"},
      {99.5, ValueType::percent, "must be a whole number from 0 to 100, not 99.5"},

      {"x", ValueType::character, ""},
      {"\xC3\xA9", ValueType::character, ""},  // two bytes, one character
      {"", ValueType::character, "must be one character, not ''"},
      {"xy", ValueType::character, "must be one character, not 'xy'"},

      {"", ValueType::string, ""},
      {string256, ValueType::string, ""},
      {string256 + "x", ValueType::string,
       "must be a text of at most 256 characters, not a text of 257 characters"},
      {text, ValueType::text, ""},
      {text + "x", ValueType::text,
       "must be a text of at most 2^20 characters, not a text of 1048577 characters"},
      {Json::array(), ValueType::text, "must be a text of at most 2^20 characters, not an array"},
  };
  for (const auto& row : rows) {
    const auto value = value_from_json(row.json, row.type);
    const std::string shown = row.json.dump().substr(0, 60);
    EXPECT_EQ(value ? "" : value.error().what, row.error) << shown;
    if (!value) continue;
    const Json back = row.type == ValueType::integer    ? Json(row.json.as_int())
                      : row.type == ValueType::fraction ? Json(row.json.as_double())
                                                        : row.json;
    EXPECT_EQ(to_json(*value), back) << shown;
  }
}

TEST(Value, TextIsUtf8AfterItWasRead) {
  EXPECT_EQ(std::get<std::string>(*value_from_json("a\xFF\xC3", ValueType::string)),
            "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Value, NamesOfTypesReadBack) {
  for (const ValueTypeRow& row : kValueTypes) EXPECT_EQ(parse_value_type(row.name), row.type) << row.name;
  EXPECT_EQ(parse_value_type("boolean"), std::nullopt);
}

}  // namespace
}  // namespace sickbay
