// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/expression_lexer.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "model/value.h"

namespace sickbay::diagnose {
namespace {

struct SignRow {
  std::string_view spelled;
  std::string_view refusal;  // empty: allowed
};
// The longest that fits wins, so longer ones stand first.
constexpr SignRow kSigns[] = {
    {">>>=", "an assignment is not allowed; write == to compare"},
    {"===", ""},
    {"!==", ""},
    {">>>", ""},
    {"<<=", "an assignment is not allowed; write == to compare"},
    {">>=", "an assignment is not allowed; write == to compare"},
    {"==", ""},
    {"!=", ""},
    {"<=", ""},
    {">=", ""},
    {"&&", ""},
    {"||", ""},
    {"<<", ""},
    {">>", ""},
    {"//", "a comment is not allowed in an expression"},
    {"/*", "a comment is not allowed in an expression"},
    {"=>", "a function is not allowed"},
    {"++", "an assignment is not allowed"},
    {"--", "an assignment is not allowed; write - (-x) with blanks or parentheses for a difference"},
    {"+=", "an assignment is not allowed; write == to compare"},
    {"-=", "an assignment is not allowed; write == to compare"},
    {"*=", "an assignment is not allowed; write == to compare"},
    {"/=", "an assignment is not allowed; write == to compare"},
    {"%=", "an assignment is not allowed; write == to compare"},
    {"&=", "an assignment is not allowed; write == to compare"},
    {"|=", "an assignment is not allowed; write == to compare"},
    {"^=", "an assignment is not allowed; write == to compare"},
    {"=", "an assignment is not allowed; write == to compare"},
    {";", "a predicate is one expression, not statements: ';' is not allowed"},
    {"[", "a list or an index is not allowed"},
    {"]", "a list or an index is not allowed"},
    {"{", "an object or a block is not allowed"},
    {"}", "an object or a block is not allowed"},
    {"`", "a template is not allowed; write the text in quotes"},
    {"+", ""},
    {"-", ""},
    {"*", ""},
    {"/", ""},
    {"%", ""},
    {"<", ""},
    {">", ""},
    {"!", ""},
    {"~", ""},
    {"&", ""},
    {"|", ""},
    {"^", ""},
    {"?", ""},
    {":", ""},
    {"(", ""},
    {")", ""},
    {",", ""},
    {".", ""},
};

constexpr bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

void append_utf8(std::string& out, char32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Four digits of \uNNNN or two of \xNN from `at`.
std::optional<char32_t> hex_digits(std::string_view text, std::size_t at, std::size_t count) {
  unsigned code = 0;
  if (text.size() < at + count) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + count, code, 16);
  if (error != std::errc() || end != text.data() + at + count) return std::nullopt;
  return code;
}

// `at` is behind the quote.
Result<std::string> read_text(std::string_view expression, std::size_t& at, char quote) {
  const std::size_t start = at - 1;
  std::string text;
  while (at < expression.size() && expression[at] != quote) {
    const char c = expression[at];
    if (c == '\n' || c == '\r') return refuse("a text goes over the end of a line", at);
    if (c != '\\') {
      const Rune rune = next_rune(expression.substr(at));
      if (!rune.valid) return refuse("a text holds bytes that are no UTF-8", at);
      text += expression.substr(at, rune.bytes);
      at += rune.bytes;
      continue;
    }
    const std::size_t escape = at++;
    const char kind = at < expression.size() ? expression[at++] : '\0';
    constexpr std::string_view kFrom = "ntrbfv\\'\"/", kTo = "\n\t\r\b\f\v\\'\"/";
    if (const auto known = kFrom.find(kind); known != std::string_view::npos) {
      text += kTo[known];
    } else if (kind == '0' && (at >= expression.size() || !is_digit(expression[at]))) {
      text += '\0';
    } else if (kind == 'x' || kind == 'u') {
      const std::size_t count = kind == 'x' ? 2 : 4;
      auto code = hex_digits(expression, at, count);
      if (!code) return refuse("an escape of a text is cut short", escape);
      at += count;
      if (*code >= 0xd800 && *code < 0xdc00 && expression.substr(at, 2) == "\\u")
        if (const auto low = hex_digits(expression, at + 2, 4); low && *low >= 0xdc00 && *low < 0xe000) {
          *code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
          at += 6;
        }
      if (*code >= 0xd800 && *code < 0xe000)
        return refuse("half of a surrogate pair is no character", escape);
      append_utf8(text, *code);
    } else {
      return refuse("an unknown escape in a text", escape);
    }
  }
  if (at >= expression.size()) return refuse("a text has no end", start);
  ++at;
  return text;
}

Result<double> read_number(std::string_view expression, std::size_t& at) {
  const std::size_t start = at;
  const char* const last = expression.data() + expression.size();
  double number = 0;
  if (expression.substr(at, 2) == "0x" || expression.substr(at, 2) == "0X") {
    std::uint64_t whole = 0;
    const auto [end, error] = std::from_chars(expression.data() + at + 2, last, whole, 16);
    if (error == std::errc::invalid_argument) return refuse("a number is cut short", start);
    number = error == std::errc() ? static_cast<double>(whole) : HUGE_VAL;
    at = static_cast<std::size_t>(end - expression.data());
  } else {
    if (expression[at] == '0' && at + 1 < expression.size() && is_digit(expression[at + 1]))
      return refuse("a number may not begin with 0, which some languages read as octal", start);
    const auto [end, error] = std::from_chars(expression.data() + at, last, number);
    if (error == std::errc::result_out_of_range) return refuse("a number is beyond what can be held", start);
    at = static_cast<std::size_t>(end - expression.data());
  }
  // (Asked of the digits: as a double, 2^53 + 1 is 2^53.)
  std::int64_t whole = 0;
  const auto [digits_end, too_long] =
      std::from_chars(expression.data() + start, expression.data() + at, whole);
  const bool exact = digits_end == expression.data() + at && too_long == std::errc() && whole <= kMostInteger;
  if (std::floor(number) == number && !exact && number >= static_cast<double>(kMostInteger))
    return refuse("a whole number is beyond 2^53, where not each one can be held", start);
  if (at < expression.size() && (starts_name(expression[at]) || is_digit(expression[at])))
    return refuse("a number runs into a name", at);
  return number;
}

}  // namespace

tl::unexpected<Error> refuse(std::string what, std::size_t offset) {
  return fail(Error(ErrorCode::bad_input, fmt::format("{} at column {}", what, offset + 1))
                  .remedied_by(
                      "write one expression of characteristics, literals, operators, parentheses and Math.*; "
                      "doc/formats/specification.md"));
}

Result<Token> next_token(std::string_view expression, std::size_t& offset) {
  while (offset < expression.size() &&
         std::string_view(" \t\r\n").find(expression[offset]) != std::string_view::npos)
    ++offset;
  Token token;
  token.offset = offset;
  if (offset >= expression.size()) return token;
  const char c = expression[offset];
  const auto finish = [&](Token::Kind kind) {
    token.kind = kind;
    token.spelled = expression.substr(token.offset, offset - token.offset);
    return token;
  };
  if (is_digit(c) || (c == '.' && offset + 1 < expression.size() && is_digit(expression[offset + 1]))) {
    auto number = read_number(expression, offset);
    if (!number) return fail(number.error());
    token.number = *number;
    return finish(Token::Kind::number);
  }
  if (c == '"' || c == '\'') {
    auto text = read_text(expression, ++offset, c);
    if (!text) return fail(text.error());
    token.text = std::move(*text);
    return finish(Token::Kind::text);
  }
  if (starts_name(c)) {
    while (offset < expression.size() && (starts_name(expression[offset]) || is_digit(expression[offset])))
      ++offset;
    return finish(Token::Kind::name);
  }
  for (const SignRow& row : kSigns)
    if (expression.substr(offset).starts_with(row.spelled)) {
      if (!row.refusal.empty()) return refuse(std::string(row.refusal), offset);
      offset += row.spelled.size();
      return finish(Token::Kind::sign);
    }
  return refuse(fmt::format("{} is not allowed", quote_for_message(expression.substr(offset, 1))), offset);
}

std::string text_literal(std::string_view utf8) {
  std::string out = "\"";
  while (!utf8.empty()) {
    const Rune rune = next_rune(utf8);
    utf8.remove_prefix(rune.bytes);
    if (rune.code >= ' ' && rune.code <= '~' && rune.code != '"' && rune.code != '\\')
      out += static_cast<char>(rune.code);
    else if (rune.code > 0xffff)
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((static_cast<unsigned>(rune.code) - 0x10000) >> 10),
                         0xdc00 + ((static_cast<unsigned>(rune.code) - 0x10000) & 0x3ff));
    else
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(rune.code));
  }
  return out + '"';
}

}  // namespace sickbay::diagnose
