// SPDX-License-Identifier: Apache-2.0
// How the JSON files of node diagnosis (specifications, rule tests) are read: tables of keys, one reader that
// walks them, and for every fault file:line:column and "did you mean".
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "engine/diagnose/specification.h"

namespace sickbay::diagnose {

/// The JSON of a file with its places.
class SourceText {
 public:
  /// Errors: bad_input: too long, or no JSON.
  static Result<std::shared_ptr<const SourceText>> parse(const SpecificationFile& file);
  const Json& root() const { return root_; }
  Place place(const Json& value) const;
  /// "FILE:LINE:COLUMN: what"
  tl::unexpected<Error> refuse(const Json& at, const std::string& what) const;

 private:
  std::string path_;
  std::vector<std::uint32_t> line_starts_;
  Json root_;
};

/// "; did you mean 'X'?" or "".
std::string meant(std::string_view word, const std::vector<std::string>& known);

/// What is wrong with a value, and where in it.
struct Wrong {
  const Json* at;
  std::string what;
};
using Taken = std::optional<Wrong>;  ///< nothing: it was taken

template <class T>
struct Key {
  std::string_view key;
  bool required;
  Taken (*take)(T&, const Json&);
};

bool is_name(std::string_view word);
inline constexpr std::string_view kNameRule = "letters, digits and '_', at most 64, no digit first";

Taken take_name(std::string& field, const Json& value);
Taken take_text(std::string& field, const Json& value, std::size_t most);
Taken take_description(std::string& field, const Json& value);
/// Each once.
Taken take_names(std::vector<std::string>& field, const Json& value);
/// One of `words`; `which` is its number.
Taken take_word(const Json& value, const std::vector<std::string>& words, std::size_t& which);
Taken take_flag(bool& field, const Json& value);
Taken take_count(std::int64_t& field, const Json& value, std::int64_t least, std::int64_t most);
/// A duration of the house's form within bounds.
Taken take_bounded_duration(Micros& field, const Json& value, Micros least, Micros most);
template <class Duration>
Taken take_duration(Duration& field, const Json& value, Duration least, Duration most) {
  Micros read{0};
  auto wrong = take_bounded_duration(read, value, least, most);
  if (!wrong) field = std::chrono::duration_cast<Duration>(read);
  return wrong;
}

template <class T>
Taken take_object(T& entry, const Json& body, std::span<const Key<T>> keys) {
  if (!body.is_object()) return Wrong{&body, fmt::format("must be an object, not {}", body.type_name())};
  for (const auto& [name, value] : body.members()) {
    const auto key = std::ranges::find(keys, name, &Key<T>::key);
    if (key == keys.end()) {
      std::vector<std::string> known;
      for (const Key<T>& k : keys) known.emplace_back(k.key);
      return Wrong{&value,
                   fmt::format("has the unknown key {}{}", quote_for_message(name), meant(name, known))};
    }
    if (auto wrong = key->take(entry, value))
      return Wrong{wrong->at, fmt::format("key '{}': {}", name, wrong->what)};
  }
  for (const Key<T>& key : keys)
    if (key.required && !body.has(key.key)) return Wrong{&body, fmt::format("lacks the key '{}'", key.key)};
  return {};
}

}  // namespace sickbay::diagnose
