// SPDX-License-Identifier: Apache-2.0
// Configuration files as tables: one row for each key, and one reader that walks any such table.
//
// A file is JSON with // comments: sections that hold keys.  An unknown section or key, a key given twice and
// a value of another type are errors with file:line:column and a "did you mean".
// Source: doc/design/decisions.md 7, doc/formats/config.md.
#pragma once
#include <chrono>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration.h"
#include "base/json.h"
#include "base/result.h"

namespace sickbay {

struct ConfigKey {
  std::string_view section, key, type, meaning;
};

/// One key of a configuration `C`.  `take` puts the value into it and gives "", or says what the value must
/// be: "must be a string, not integer".
template <class C>
struct ConfigRow {
  ConfigKey name;
  std::string (*take)(C&, const Json&);
};

/// Reads `text` of the file `source`; `page` is the page that lists the keys.  Calls `take` with the number
/// of the key and its value.  Errors: bad_input.
Status read_config(std::string_view text, std::string_view source, std::string_view page,
                   std::span<const ConfigKey> keys,
                   const std::function<std::string(std::size_t key, const Json& value)>& take);

/// The same into a `C` with its table.
template <class C>
Result<C> read_config(std::string_view text, std::string_view source, std::string_view page,
                      std::span<const ConfigRow<C>> rows) {
  std::vector<ConfigKey> keys;
  for (const ConfigRow<C>& row : rows) keys.push_back(row.name);
  C config;
  const Status read = read_config(text, source, page, keys, [&](std::size_t key, const Json& value) {
    return rows[key].take(config, value);
  });
  if (!read) return tl::unexpected<Error>(read.error());
  return config;
}

/// The rows of the page's table, as Markdown.
std::string describe_keys(std::span<const ConfigKey> keys);
template <class C>
std::string describe_rows(std::span<const ConfigRow<C>> rows) {
  std::vector<ConfigKey> keys;
  for (const ConfigRow<C>& row : rows) keys.push_back(row.name);
  return describe_keys(keys);
}

// How values are taken: what is wrong with them, or "".
std::string take_text(std::string& field, const Json& value);
/// One of `words`.
std::string take_word(std::string& field, const Json& value, std::initializer_list<std::string_view> words);
std::string take_names(std::vector<std::string>& field, const Json& value);
std::string take_flag(bool& field, const Json& value);
std::string take_count(int& field, const Json& value, int least, int most);
/// A share that is written in percent: 0.1 for 10.  Over 0 and under 100.
std::string take_percent(double& field, const Json& value);
template <class Duration>
std::string take_duration(Duration& field, const Json& value) {
  if (!value.is_string())
    return "must be a duration like \"30s\" or \"5m\", not " + std::string(value.type_name());
  auto read = parse_duration(value.as_string());
  if (!read) return read.error().what;
  field = std::chrono::duration_cast<Duration>(*read);
  if (field <= Duration::zero()) return "must be more than 0";
  return "";
}

}  // namespace sickbay
