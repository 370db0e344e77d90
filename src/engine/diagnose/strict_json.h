// SPDX-License-Identifier: Apache-2.0
// How the JSON files of node diagnosis (specifications, rule tests) are read: tables of keys, one reader that
// walks them, and for every fault file:line:column and "did you mean".
//
// A reader does not stop at the first fault: who writes rules wants to mend all of them before he tries
// again. So what is wrong is collected, and told as one Error with a line for each fault.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "engine/diagnose/specification.h"

namespace sickbay::diagnose {

class Taken;

/// The JSON of a file with its places.
class SourceText {
 public:
  /// Errors: bad_input: too long, or no JSON.
  static Result<std::shared_ptr<const SourceText>> parse(const SpecificationFile& file);
  const Json& root() const { return root_; }
  Place place(const Json& value) const;
  /// "FILE:LINE:COLUMN: what"
  tl::unexpected<Error> refuse(const Json& at, const std::string& what) const;
  /// All of it, a line each; `taken` must hold something.
  tl::unexpected<Error> refuse(const Taken& taken, std::string_view prefix = "") const;

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
/// All that is wrong with a value; true: something is, and not all of it was taken.
class Taken {
 public:
  Taken() = default;
  Taken(Wrong wrong) { wrongs_.push_back(std::move(wrong)); }  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return !wrongs_.empty(); }
  const std::vector<Wrong>& wrongs() const { return wrongs_; }
  /// What is wrong with a part of it, `prefix` before each.
  void add(Taken part, std::string_view prefix = "") {
    for (Wrong& wrong : part.wrongs_) wrongs_.push_back({wrong.at, std::string(prefix) + wrong.what});
  }

 private:
  std::vector<Wrong> wrongs_;
};

/// What is wrong with several files, as one error.
class Faults {
 public:
  void add(const SourceText& source, const Json& at, const std::string& what);
  void add(const SourceText& source, const Taken& taken, std::string_view prefix = "");
  /// One that has its place in it already; a second one of the same words is left out.
  void add(const Error& error);
  bool empty() const { return faults_.empty(); }
  /// A line for each, file by file in the order in which they came and there by their places, up to a bound;
  /// the remedy is the first one's.  Some must be there.
  Error error() const;

 private:
  struct Fault {
    std::size_t file;  ///< number of `files_`
    int line, column;
    std::string text;
  };
  void add(const Place& place, std::string text, std::string_view remedy);
  std::vector<std::string> files_;
  std::vector<Fault> faults_;
  std::string remedy_;
};

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
  Taken wrong;
  for (const auto& [name, value] : body.members()) {
    const auto key = std::ranges::find(keys, name, &Key<T>::key);
    if (key == keys.end()) {
      std::vector<std::string> known;
      for (const Key<T>& k : keys) known.emplace_back(k.key);
      wrong.add(Wrong{&value,
                      fmt::format("has the unknown key {}{}", quote_for_message(name), meant(name, known))});
      continue;
    }
    wrong.add(key->take(entry, value), fmt::format("key '{}': ", name));
  }
  for (const Key<T>& key : keys)
    if (key.required && !body.has(key.key))
      wrong.add(Wrong{&body, fmt::format("lacks the key '{}'", key.key)});
  return wrong;
}

}  // namespace sickbay::diagnose
