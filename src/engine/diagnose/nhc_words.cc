// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/nhc_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/words.h"

namespace sickbay::diagnose {
namespace {

bool is_letter(char c) { return c == '_' || (to_lower(c) >= 'a' && to_lower(c) <= 'z'); }
std::string_view name_at(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_letter(text[end]) || (end > 0 && is_digit(text[end])))) ++end;
  return text.substr(0, end);
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOfNode = {
    {{"HW_SOCKETS", "{cpu_sockets}"}, {"HW_CORES", "{cpu_cores}"}, {"HW_THREADS", "{cpu_threads}"}}};

// Whole numbers, + - * / %, parentheses, names.  As the shell's: a quotient is a whole number.
class Arithmetic {
 public:
  struct Part {
    std::string text;
    std::optional<std::int64_t> value;
  };
  Arithmetic(std::string_view text, const NhcVariables& variables) : rest_(text), variables_(variables) {}

  std::optional<Part> whole() {
    auto part = sum();
    return part && trimmed(rest_).empty() ? part : std::nullopt;
  }

 private:
  static constexpr std::int64_t kMost = 1'000'000'000'000;

  char next() {
    while (rest_.starts_with(' ') || rest_.starts_with('\t')) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_[0];
  }
  std::optional<Part> sum() { return chain("+-", &Arithmetic::product); }
  std::optional<Part> product() { return chain("*/%", &Arithmetic::factor); }
  std::optional<Part> chain(std::string_view signs, std::optional<Part> (Arithmetic::*inner)()) {
    auto left = (this->*inner)();
    while (left && next() != '\0' && signs.find(next()) != std::string_view::npos) {
      const char sign = next();
      rest_.remove_prefix(1);
      const auto right = (this->*inner)();
      if (!right) return std::nullopt;
      left = joined(*left, sign, *right);
    }
    return left;
  }
  static std::optional<Part> joined(const Part& a, char sign, const Part& b) {
    Part made;
    made.text = sign == '/' ? fmt::format("Math.floor({} / {})", a.text, b.text)
                            : fmt::format("({} {} {})", a.text, sign, b.text);
    if (!a.value || !b.value) return made;
    if ((sign == '/' || sign == '%') && *b.value <= 0) return std::nullopt;
    const std::int64_t value =
        sign == '+'   ? *a.value + *b.value
        : sign == '-' ? *a.value - *b.value
        : sign == '*' ? (*b.value != 0 && *a.value > kMost / *b.value ? kMost + 1 : *a.value * *b.value)
        : sign == '/' ? *a.value / *b.value
                      : *a.value % *b.value;
    if (value < 0 || value > kMost) return std::nullopt;
    return Part{std::to_string(value), value};
  }
  std::optional<Part> factor() {
    if (++depth_ > 32) return std::nullopt;
    const char c = next();
    if (c == '(') {
      rest_.remove_prefix(1);
      auto inner = sum();
      if (!inner || next() != ')') return std::nullopt;
      rest_.remove_prefix(1);
      --depth_;
      return inner;
    }
    if (is_digit(c)) {
      std::size_t end = 0;
      while (end < rest_.size() && is_digit(rest_[end])) ++end;
      return number(end);
    }
    if (c == '$') rest_.remove_prefix(1);
    const bool braced = c == '$' && rest_.starts_with('{');
    if (braced) rest_.remove_prefix(1);
    const std::string_view name = name_at(rest_);
    if (name.empty()) return std::nullopt;
    rest_.remove_prefix(name.size());
    if (braced && !rest_.starts_with('}')) return std::nullopt;
    if (braced) rest_.remove_prefix(1);
    --depth_;
    if (const auto set = variables_.find(name); set != variables_.end()) {
      const auto value = to_integer(set->second);
      if (!value || *value < 0 || *value > kMost) return std::nullopt;
      return Part{std::to_string(*value), value};
    }
    for (const auto& [known, output] : kOfNode)
      if (known == name) return Part{std::string(output), std::nullopt};
    return std::nullopt;
  }
  std::optional<Part> number(std::size_t length) {
    const std::string_view digits = rest_.substr(0, length);
    const auto value = to_integer(digits, digits.size() > 1 && digits[0] == '0' ? 8 : 10);
    rest_.remove_prefix(length);
    --depth_;
    if (!value || *value > kMost) return std::nullopt;
    return Part{std::to_string(*value), value};
  }

  std::string_view rest_;
  const NhcVariables& variables_;
  int depth_ = 0;
};

// One line while it is read.
class Splitter {
 public:
  Splitter(std::string_view check, const NhcVariables& variables) : rest_(check), variables_(variables) {}

  NhcWords all() {
    made_.commands.emplace_back();
    while (!rest_.empty() && made_.shell.empty() && !made_.open_quote) step();
    finish();
    if (made_.shell.empty() && made_.commands.size() > 1 &&
        std::ranges::any_of(made_.commands, [](const auto& c) { return c.empty(); }))
      made_.shell = "&& joins no two commands";
    if (!made_.shell.empty()) made_.commands.clear();
    return std::move(made_);
  }

 private:
  char take() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  void put(std::string_view text) {
    in_word_ = true;
    word_ += text;
  }
  void finish() {
    if (in_word_) made_.commands.back().push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }

  void step() {
    if (rest_.starts_with("&&")) {
      rest_.remove_prefix(2);
      finish();
      made_.commands.emplace_back();
      return;
    }
    const char c = take();
    if (c == ' ' || c == '\t') return finish();
    if (c == '\'') return single_quotes();
    if (c == '"') return double_quotes();
    if (c == '#' && !in_word_) {
      rest_ = {};
      return;
    }
    if (c == '\\') {
      if (!rest_.empty()) put(std::string(1, take()));
      return;
    }
    if (c == '$') return dollar(false);
    if (std::string_view("`;&|<>()").find(c) != std::string_view::npos) {
      made_.shell = "the shell would have to read it";
      return;
    }
    put(std::string(1, c));
  }
  void single_quotes() {
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) {
      made_.open_quote = true;
      return;
    }
    put(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
  }
  void double_quotes() {
    in_word_ = true;
    while (!rest_.empty() && made_.shell.empty()) {
      const char c = take();
      if (c == '"') return;
      if (c == '`') made_.shell = "the shell would have to read it";
      if (c == '$') {
        dollar(true);
      } else if (c == '\\' && !rest_.empty() &&
                 std::string_view("$`\"\\").find(rest_[0]) != std::string_view::npos) {
        put(std::string(1, take()));
      } else {
        put(std::string(1, c));
      }
    }
    made_.open_quote = made_.shell.empty();
  }
  void dollar(bool quoted) {
    if (rest_.starts_with("((")) {
      const std::size_t end = rest_.find("))");
      // The inner ones are part of it.
      std::size_t close = end;
      while (close != std::string_view::npos && rest_.substr(close + 2).starts_with(")")) ++close;
      const auto part = close == std::string_view::npos
                            ? std::nullopt
                            : Arithmetic(rest_.substr(2, close - 2), variables_).whole();
      if (!part) {
        made_.shell = "the shell would have to reckon it";
        return;
      }
      if (!part->value && (!word_.empty() || !after_word(close + 2, quoted))) {
        made_.shell = "a count of processors is a part of a word";
        return;
      }
      put(part->value ? part->text : fmt::format("$(({}))", part->text));
      rest_.remove_prefix(close + 2);
      return;
    }
    const bool braced = rest_.starts_with('{');
    const std::string_view name = name_at(rest_.substr(braced ? 1 : 0));
    const std::size_t size = name.size() + (braced ? 2 : 0);
    if (name.empty() && !braced && (rest_.empty() || rest_[0] == '"' || rest_[0] == ' ' || rest_[0] == '/'))
      return put("$");  // a dollar by itself
    const auto known = variables_.find(name);
    if (name.empty() || (braced && (rest_.size() < size || rest_[size - 1] != '}'))) {
      made_.shell = "the shell would have to read it";
      return;
    }
    if (known == variables_.end()) {
      for (const auto& [of_node, output] : kOfNode)
        if (of_node == name && word_.empty() && after_word(size, quoted)) {
          put(fmt::format("$(({}))", output));
          rest_.remove_prefix(size);
          return;
        }
      made_.shell = fmt::format("nothing in this file says what ${} is", name);
      return;
    }
    rest_.remove_prefix(size);
    if (quoted) return put(known->second);
    // Unquoted, a value is parted at its blanks.
    for (const char c : known->second)
      if (c == ' ' || c == '\t')
        finish();
      else
        put(std::string(1, c));
  }
  bool after_word(std::size_t at, bool quoted) const {
    return at >= rest_.size() || rest_[at] == ' ' || rest_[at] == '\t' || (quoted && rest_[at] == '"');
  }

  std::string_view rest_;
  const NhcVariables& variables_;
  NhcWords made_;
  std::string word_;
  bool in_word_ = false;
};

}  // namespace

NhcWords split_nhc_check(std::string_view check, const NhcVariables& variables) {
  return Splitter(check, variables).all();
}

std::optional<NhcLimit> nhc_limit(std::string_view word) {
  if (word.starts_with("$((") && word.ends_with("))"))
    return NhcLimit{std::string(word.substr(3, word.size() - 5)), true};
  const auto value = to_integer(word);
  if (!value || *value < 0 || *value > 1'000'000'000) return std::nullopt;
  return NhcLimit{std::to_string(*value), false};
}

std::optional<std::string_view> nhc_assigned(std::string_view word) {
  const std::string_view name = name_at(word);
  if (name.empty() || name.size() >= word.size() || word[name.size()] != '=') return std::nullopt;
  return name;
}

}  // namespace sickbay::diagnose
