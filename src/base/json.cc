// SPDX-License-Identifier: Apache-2.0
// The JSON reader (over nlohmann's SAX lexer) and the writer.  The only file that sees nlohmann-json.
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"

namespace sickbay {
namespace {

const Json kNull;
const std::string kEmptyString;
const Json::Array kNoItems;
const Json::Object kNoMembers;
constexpr std::size_t kLinearKeys = 64;  // up to here a walk over all members is the fastest search

// Iterates over the text and counts how far the lexer has come: nlohmann reports a position for syntax
// errors only, and we want one for every value.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at = nullptr;
  const char** seen = nullptr;
  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    *seen = at;
    return *this;
  }
  bool operator==(const CountingIterator& o) const { return at == o.at; }
  bool operator!=(const CountingIterator& o) const { return at != o.at; }
};

// Where reading stopped, in quotes: the last of what was read.
std::string end_of_token(std::string_view token) {
  constexpr std::size_t kShown = 40;
  if (token.size() <= kShown) return quote_for_message(token);
  return "..." + quote_for_message(token.substr(token.size() - kShown));
}

}  // namespace

// Builds the value from SAX events.  A SAX callback comes when the lexer has read the whole token (and, for
// numbers, one byte more), so offsets of scalars are found by going back over the token's length.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonBuilder(std::string_view text, const Json::ParseOptions& options, const char** seen)
      : text_(text), options_(options), seen_(seen) {}

  bool null() override { return scalar(Json()); }
  bool boolean(bool b) override { return scalar(Json(b)); }
  bool number_integer(number_integer_t i) override {
    return scalar(Json(static_cast<std::int64_t>(i)), true);
  }
  bool number_unsigned(number_unsigned_t i) override {
    // An integer never passes through a double, and no other type of ours holds it.
    if (i > static_cast<std::uint64_t>(INT64_MAX)) return stop("the integer is over 2^63-1", here(1));
    return scalar(Json(static_cast<std::int64_t>(i)), true);
  }
  bool number_float(number_float_t d, const string_t&) override { return scalar(Json(d), true); }
  bool string(string_t& s) override { return scalar(Json(std::move(s))); }
  // (Only in CBOR and its like; the lexer of text never calls it.)
  bool binary(binary_t&) override { return stop("binary value", here(1)); }
  bool start_object(std::size_t) override { return open(Json(Json::Object{})); }
  bool start_array(std::size_t) override { return open(Json(Json::Array{})); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& k) override {
    Json::Object& object = std::get<Json::Object>(stack_.back().value_);
    const std::size_t at = start_of_token();
    pass_read();
    if (options_.unique_keys && object.size() <= kLinearKeys) {
      for (const auto& member : object)
        if (member.first == k) return stop(fmt::format("the key {} stands twice", quote_for_message(k)), at);
    } else if (options_.unique_keys) {
      // Wide objects: sort once at the end instead of comparing each key with all before it.
      wide_ = true;
    }
    object.emplace_back(std::move(k), Json());
    object.back().second.offset_ = static_cast<std::uint32_t>(at);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& e) override {
    if (!error_.empty()) return false;
    std::string why = e.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ... - unexpected
    // ..."
    // The rest tells of tokens of the library, which say nothing to who wrote the file.
    if (auto dash = why.rfind("; expected "); dash != std::string::npos) why.erase(dash);
    if (auto dash = why.find(" - "); dash != std::string::npos) why.erase(0, dash + 3);
    if (auto bracket = why.find("] "); why.starts_with('[') && bracket != std::string::npos)
      why.erase(0, bracket + 2);
    // What it read last is of the file: any bytes, and as many.
    for (const std::string_view mark : {"; last read: '", "number overflow parsing '"})
      if (const auto at = why.find(mark); at != std::string::npos) {
        const std::string token = why.substr(at + mark.size());
        why.erase(at + mark.size() - 1);
        why += end_of_token(token.substr(0, token.size() - token.ends_with('\'')));
        break;
      }
    return stop(why, position == 0 ? 0 : position - 1);
  }

  Result<Json> finish() {
    if (error_.empty() && wide_) check_wide(root_);
    if (error_.empty()) return std::move(root_);
    const auto [line, column] = line_and_column(text_, error_at_);
    const std::string where = options_.source.empty()
                                  ? fmt::format("line {}, column {}", line, column)
                                  : fmt::format("{}:{}:{}", options_.source, line, column);
    return fail(ErrorCode::bad_input, fmt::format("{}: not valid JSON: {}", where, error_));
  }

 private:
  // Where the token that a callback just reported begins: the first byte after the last one that is neither
  // blank nor a separator (nor a comment).  The lexer itself has read past the end of a number by now.
  std::size_t start_of_token() {
    std::size_t at = cursor_;
    while (at < text_.size()) {
      if (std::string_view(" \t\r\n,:").find(text_[at]) != std::string_view::npos) {
        ++at;
      } else if (options_.comments && text_.substr(at, 2) == "//") {
        at = std::min(text_.find('\n', at), text_.size());
      } else if (options_.comments && text_.substr(at, 2) == "/*") {
        at = std::min(text_.find("*/", at + 2), text_.size() - 2) + 2;
      } else {
        break;
      }
    }
    cursor_ = at;
    return at;
  }
  void pass_number() {
    while (cursor_ < text_.size() &&
           std::string_view("+-0123456789.eE").find(text_[cursor_]) != std::string_view::npos)
      ++cursor_;
  }
  void pass_read() {
    cursor_ = static_cast<std::size_t>(*seen_ - text_.data());
  }  // exact for all other tokens

  std::size_t here(std::size_t token_length) const {
    const auto read = static_cast<std::size_t>(*seen_ - text_.data());
    return read > token_length ? read - token_length : 0;
  }
  bool stop(std::string why, std::size_t at) {
    if (error_.empty()) {
      error_ = std::move(why);
      // The first error stands: what follows on it is none of the user's.
      error_at_ = at;
    }
    return false;
  }
  bool scalar(Json value, bool number = false) {
    value.offset_ = static_cast<std::uint32_t>(start_of_token());
    if (number)
      pass_number();
    else
      pass_read();
    return add(std::move(value));
  }
  bool add(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Json& top = stack_.back();
    if (auto* array = std::get_if<Json::Array>(&top.value_))
      array->push_back(std::move(value));
    else
      std::get<Json::Object>(top.value_).back().second = std::move(value);
    return true;
  }
  bool open(Json value) {
    // Each level is a level of recursion in write() and in destructors: a text must not end the process.
    if (static_cast<int>(stack_.size()) >= options_.max_depth)
      return stop(fmt::format("nested deeper than {}", options_.max_depth), here(1));
    value.offset_ = static_cast<std::uint32_t>(start_of_token());
    pass_read();
    stack_.push_back(std::move(value));
    return true;
  }
  bool close() {
    Json done = std::move(stack_.back());
    stack_.pop_back();
    pass_read();
    return add(std::move(done));
  }
  void check_wide(const Json& value) {
    std::vector<std::string_view> keys;
    for (const auto& [k, v] : value.members()) {
      keys.push_back(k);
      check_wide(v);
    }
    for (const Json& item : value.items()) check_wide(item);
    std::sort(keys.begin(), keys.end());
    if (auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end())
      stop(fmt::format("the key {} stands twice", quote_for_message(*twice)), value.offset_);
  }

  std::string_view text_;
  Json::ParseOptions options_;
  const char** seen_;
  std::vector<Json> stack_;
  Json root_;
  std::string error_;
  std::size_t error_at_ = 0;
  bool wide_ = false;
  std::size_t cursor_ = 0;  ///< end of the last token
};

Json::Json(const std::vector<std::string>& names) : value_(Array(names.begin(), names.end())) {}

std::string_view Json::type_name() const {
  constexpr std::string_view kNames[] = {"null", "bool", "integer", "number", "string", "array", "object"};
  return kNames[value_.index()];
}

bool Json::as_bool(bool fallback) const {
  const bool* b = std::get_if<bool>(&value_);
  return b ? *b : fallback;
}
std::int64_t Json::as_int(std::int64_t fallback) const {
  if (const auto* i = std::get_if<std::int64_t>(&value_)) return *i;
  // A double is taken only where it is a whole number that fits: 1e3 is written by other languages.
  if (const auto* d = std::get_if<double>(&value_); d && std::floor(*d) == *d && std::fabs(*d) < 9.0e15)
    return static_cast<std::int64_t>(*d);
  return fallback;
}
double Json::as_double(double fallback) const {
  if (const auto* d = std::get_if<double>(&value_)) return *d;
  if (const auto* i = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*i);
  return fallback;
}
const std::string& Json::as_string() const {
  const auto* s = std::get_if<std::string>(&value_);
  return s ? *s : kEmptyString;
}
std::string_view Json::as_string_or(std::string_view fallback) const {
  const auto* s = std::get_if<std::string>(&value_);
  return s ? std::string_view(*s) : fallback;
}
const Json::Array& Json::items() const {
  const auto* a = std::get_if<Array>(&value_);
  return a ? *a : kNoItems;
}
const Json::Object& Json::members() const {
  const auto* o = std::get_if<Object>(&value_);
  return o ? *o : kNoMembers;
}
std::vector<std::string> Json::as_strings() const {
  std::vector<std::string> out;
  for (const Json& item : items()) out.push_back(item.as_string());
  return out;
}
const Json::Member* Json::find(std::string_view key) const {
  const Object& object = members();
  if (places_.map) {
    const auto it = places_.map->find(key);
    return it == places_.map->end() ? nullptr : &object[it->second];
  }
  const auto it = std::ranges::find(object, key, &Member::first);
  return it == object.end() ? nullptr : &*it;
}
const Json& Json::operator[](std::string_view key) const {
  const Member* member = find(key);
  return member ? member->second : kNull;
}
bool Json::has(std::string_view key) const { return find(key) != nullptr; }
Json& Json::set(std::string key, Json value) {
  if (is_null()) value_ = Object{};
  auto& object = std::get<Object>(value_);
  if (!places_.map && object.size() > kLinearKeys) {
    places_.map = std::make_unique<Places::Map>();
    // (Of a key that stands twice, as a lenient parse may leave it, the first one is meant everywhere.)
    for (std::size_t i = 0; i < object.size(); ++i) places_.map->emplace(object[i].first, i);
  }
  if (const Member* member = find(key)) {
    object[static_cast<std::size_t>(member - object.data())].second = std::move(value);
    return *this;
  }
  if (places_.map) places_.map->emplace(key, object.size());
  object.emplace_back(std::move(key), std::move(value));
  return *this;
}
Json& Json::push(Json value) {
  if (is_null()) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}
std::size_t Json::size() const { return is_array() ? items().size() : members().size(); }

namespace {

void write(std::string& out, const Json& value, int indent, int depth) {
  const auto line = [&](int level) {
    if (indent > 0) {
      out += '\n';
      out.append(static_cast<std::size_t>(indent * level), ' ');
    }
  };
  if (value.is_null())
    out += "null";
  else if (value.is_bool())
    out += value.as_bool() ? "true" : "false";
  else if (value.is_int())
    out += std::string_view(fmt::format_int(value.as_int()).c_str());
  else if (value.is_number()) {
    const double d = value.as_double();
    // JSON has no word for it.
    if (!std::isfinite(d)) {
      out += "null";
      return;
    }
    std::string text = fmt::format("{}", d);  // the shortest text that reads back the same
    // Else 2.0 would be read back as the integer 2, and the text of the value would not be its only one.
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    out += text;
  } else if (value.is_string())
    append_json_string(out, value.as_string());
  else if (value.is_array()) {
    out += '[';
    bool first = true;
    for (const Json& item : value.items()) {
      if (!first) out += ',';
      first = false;
      line(depth + 1);
      write(out, item, indent, depth + 1);
    }
    if (!first) line(depth);
    out += ']';
  } else {
    out += '{';
    bool first = true;
    for (const auto& [key, member] : value.members()) {
      if (!first) out += ',';
      first = false;
      line(depth + 1);
      append_json_string(out, key);
      out += indent > 0 ? ": " : ":";
      write(out, member, indent, depth + 1);
    }
    if (!first) line(depth);
    out += '}';
  }
}

}  // namespace

void append_json(std::string& out, const Json& value) { write(out, value, 0, 0); }

std::string Json::dump() const {
  std::string out;
  append_json(out, *this);
  return out;
}
std::string Json::pretty() const {
  std::string out;
  write(out, *this, 2, 0);
  return out;
}

Result<Json> Json::parse(std::string_view text, const ParseOptions& options) {
  const char* seen = text.data();
  JsonBuilder builder(text, options, &seen);
  const CountingIterator begin{text.data(), &seen};
  const CountingIterator end{text.data() + text.size(), &seen};
  try {
    nlohmann::json::sax_parse(begin, end, &builder, nlohmann::json::input_format_t::json, true,
                              options.comments);
  } catch (const std::bad_alloc&) {
    return fail(Error(ErrorCode::os, "there is no memory left to read it")
                    .remedied_by("try again; look what takes the memory of this host"));
  } catch (const std::exception& e) {
    // What the library throws becomes an Error where it is called: none of its exceptions leaves this file.
    return fail(ErrorCode::bad_input, std::string("not valid JSON: ") + e.what());
  }
  return builder.finish();
}

std::pair<int, int> line_and_column(std::string_view text, std::size_t offset) {
  int line = 1;
  std::size_t start = 0;
  offset = std::min(offset, text.size());
  for (std::size_t i = 0; i < offset; ++i)
    if (text[i] == '\n') {
      ++line;
      start = i + 1;
    }
  return {line, static_cast<int>(offset - start) + 1};
}

}  // namespace sickbay
