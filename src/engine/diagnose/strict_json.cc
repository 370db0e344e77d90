// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/strict_json.h"

#include <fmt/ranges.h>

#include <tuple>

#include "base/duration.h"
#include "base/spelling.h"
#include "base/text_table.h"

namespace sickbay::diagnose {
namespace {

constexpr std::string_view kRemedy =
    "correct the file; doc/formats/specification.md describes it, rules/specification.schema.json tells "
    "editors";
constexpr std::size_t kMostFaults = 50;  // told at once

// The JSON reader's message: its place, then what it quotes of the file, bounded and printable.
std::string harmless(const std::string& what) {
  constexpr std::size_t kMost = 300;
  constexpr std::string_view kBegin = "not valid JSON: ";
  if (what.size() <= kMost && for_terminal(what) == what) return what;
  const auto begin = what.find(kBegin);
  const std::size_t quoted = begin == std::string::npos ? 0 : begin + kBegin.size();
  return what.substr(0, quoted) +
         quote_for_message(std::string_view(what).substr(quoted), kMost / 3);  // \xNN
}

}  // namespace

std::string meant(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = did_you_mean(word, known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

Result<std::shared_ptr<const SourceText>> SourceText::parse(const SpecificationFile& file) {
  auto source = std::make_shared<SourceText>();
  source->path_ = file.path;
  source->line_starts_.push_back(0);
  if (file.text.size() > kMostSpecificationBytes)
    return source->refuse(Json(), fmt::format("the file has {} bytes, the bound is {}", file.text.size(),
                                              kMostSpecificationBytes));
  for (std::size_t i = 0; i < file.text.size(); ++i)
    if (file.text[i] == '\n') source->line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
  Json::ParseOptions options;
  options.comments = true;
  options.source = source->path_;
  auto json = Json::parse(file.text, options);
  if (!json)
    return fail(Error(ErrorCode::bad_input, harmless(json.error().what)).remedied_by(std::string(kRemedy)));
  source->root_ = std::move(*json);
  return source;
}

Place SourceText::place(const Json& value) const {
  const auto next = std::ranges::upper_bound(line_starts_, value.offset());
  return {path_, static_cast<int>(next - line_starts_.begin()),
          static_cast<int>(value.offset() - *(next - 1)) + 1};
}

tl::unexpected<Error> SourceText::refuse(const Json& at, const std::string& what) const {
  return fail(Error(ErrorCode::bad_input, fmt::format("{}: {}", place(at).text(), what))
                  .remedied_by(std::string(kRemedy)));
}

tl::unexpected<Error> SourceText::refuse(const Taken& taken, std::string_view prefix) const {
  Faults faults;
  faults.add(*this, taken, prefix);
  return fail(faults.error());
}

void Faults::add(const Place& place, std::string text, std::string_view remedy) {
  const auto known = std::ranges::find(files_, place.file);
  const auto file = static_cast<std::size_t>(known - files_.begin());
  if (known == files_.end()) files_.push_back(place.file);
  if (faults_.empty()) remedy_ = remedy;
  faults_.push_back({file, place.line, place.column, std::move(text)});
}

void Faults::add(const SourceText& source, const Json& at, const std::string& what) {
  const Place place = source.place(at);
  add(place, fmt::format("{}: {}", place.text(), what), kRemedy);
}

void Faults::add(const SourceText& source, const Taken& taken, std::string_view prefix) {
  for (const Wrong& wrong : taken.wrongs()) add(source, *wrong.at, std::string(prefix) + wrong.what);
}

void Faults::add(const Error& error) {
  std::string_view left = error.what;
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (std::ranges::find(faults_, line, &Fault::text) == faults_.end())
      add(Place{}, std::string(line), error.remedy());
  }
}

Error Faults::error() const {
  std::vector<const Fault*> sorted;
  for (const Fault& fault : faults_) sorted.push_back(&fault);
  std::ranges::stable_sort(sorted, {}, [](const Fault* f) { return std::tie(f->file, f->line, f->column); });
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < kMostFaults; ++i)
    text += (i == 0 ? "" : "\n") + sorted[i]->text;
  if (sorted.size() > kMostFaults) text += fmt::format("\nand {} more", sorted.size() - kMostFaults);
  return Error(ErrorCode::bad_input, std::move(text)).remedied_by(std::string(remedy_));
}

bool is_name(std::string_view word) {
  if (word.empty() || word.size() > kMostName || is_digit(word[0])) return false;
  return std::ranges::all_of(
      word, [](char c) { return c == '_' || is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z'); });
}
Taken take_name(std::string& field, const Json& value) {
  if (!value.is_string()) return Wrong{&value, fmt::format("must be a name, not {}", value.type_name())};
  if (!is_name(value.as_string()))
    return Wrong{&value, fmt::format("{} is no name: {}", quote_for_message(value.as_string()), kNameRule)};
  field = value.as_string();
  return {};
}

Taken take_text(std::string& field, const Json& value, std::size_t most) {
  if (!value.is_string()) return Wrong{&value, fmt::format("must be a text, not {}", value.type_name())};
  const std::size_t n = count_characters(value.as_string());
  if (n > most) return Wrong{&value, fmt::format("has {} characters, the bound is {}", n, most)};
  field = value.as_string();
  return {};
}

Taken take_description(std::string& field, const Json& value) {
  if (auto wrong = take_text(field, value, kMostDescription)) return wrong;
  if (trimmed(field).empty()) return Wrong{&value, "must not be empty"};
  return {};
}

Taken take_names(std::vector<std::string>& field, const Json& value) {
  if (!value.is_array())
    return Wrong{&value, fmt::format("must be a list of names, not {}", value.type_name())};
  Taken wrong;
  for (const Json& item : value.items()) {
    std::string name;
    if (auto no_name = take_name(name, item))
      wrong.add(std::move(no_name));
    else if (std::ranges::find(field, name) != field.end())
      wrong.add(Wrong{&item, fmt::format("{} stands twice", quote_for_message(name))});
    else
      field.push_back(std::move(name));
  }
  return wrong;
}

Taken take_word(const Json& value, const std::vector<std::string>& words, std::size_t& which) {
  if (!value.is_string()) return Wrong{&value, fmt::format("must be a word, not {}", value.type_name())};
  const auto word = std::ranges::find(words, value.as_string());
  if (word == words.end())
    return Wrong{&value, fmt::format("{} is none of {}{}", quote_for_message(value.as_string()),
                                     fmt::join(words, ", "), meant(value.as_string(), words))};
  which = static_cast<std::size_t>(word - words.begin());
  return {};
}

Taken take_flag(bool& field, const Json& value) {
  if (!value.is_bool()) return Wrong{&value, fmt::format("must be true or false, not {}", value.type_name())};
  field = value.as_bool();
  return {};
}

Taken take_count(std::int64_t& field, const Json& value, std::int64_t least, std::int64_t most) {
  if (!value.is_int() || value.as_int() < least || value.as_int() > most)
    return Wrong{&value, fmt::format("must be a whole number from {} to {}", least, most)};
  field = value.as_int();
  return {};
}

Taken take_bounded_duration(Micros& field, const Json& value, Micros least, Micros most) {
  if (!value.is_string())
    return Wrong{&value, fmt::format("must be a duration like \"30s\" or \"5m\", not {}", value.type_name())};
  auto read = parse_duration(value.as_string());
  if (!read) return Wrong{&value, read.error().what};
  if (*read < least || *read > most)
    return Wrong{&value, fmt::format("must be from {} to {}", format_duration(least), format_duration(most))};
  field = *read;
  return {};
}

}  // namespace sickbay::diagnose
