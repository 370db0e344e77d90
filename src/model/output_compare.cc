// SPDX-License-Identifier: Apache-2.0
#include "model/output_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace sickbay {
namespace {

constexpr std::size_t kMostTold = 5, kToldBytes = 80;
// Two good runs that differ by more than this in a number print another number
// each time; what differs by less is rounding, and may differ by this many
// times as much.
constexpr double kRounding = 0.01, kMargin = 10;

struct Token {
  std::string_view text;
  std::optional<double> number;
};

bool is_word_char(char c) { return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_'; }

// The number that `text` begins with, and its length; nothing where it begins
// with none, or where it is the beginning of a word ("1st", "0x1f").
std::optional<std::pair<double, std::size_t>> number_at(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const auto digit = [&](std::size_t i) { return i < text.size() && is_digit(text[i]); };
  if (!digit(at) && !(at < text.size() && text[at] == '.' && digit(at + 1))) return std::nullopt;
  while (digit(at)) ++at;
  if (at < text.size() && text[at] == '.') ++at;
  while (digit(at)) ++at;
  std::string plain(text.substr(0, at));
  if (at < text.size() && std::string_view("eEdD").find(text[at]) != std::string_view::npos) {
    std::size_t end = at + 1;
    if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
    if (digit(end)) {
      while (digit(end)) ++end;
      plain += 'e';  // Fortran writes 1.0D+03
      plain += text.substr(at + 1, end - at - 1);
      at = end;
    }
  }
  if (at < text.size() && is_word_char(text[at])) return std::nullopt;
  const std::size_t from = plain[0] == '+' ? 1 : 0;
  double value = 0;
  const auto [end, bad] = std::from_chars(plain.data() + from, plain.data() + plain.size(), value);
  if (bad != std::errc() || !std::isfinite(value)) return std::nullopt;
  return std::pair(value, at);
}

std::vector<Token> tokens_of(std::string_view line) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at;
      continue;
    }
    const char before = at == 0 ? ' ' : line[at - 1];
    // In "n12" and "3-4" no number begins; in "x=-4" and "(3.0" one does.
    if (!is_word_char(before) && before != '.')
      if (const auto number = number_at(line.substr(at))) {
        tokens.push_back({line.substr(at, number->second), number->first});
        at += number->second;
        continue;
      }
    std::size_t end = at + 1;
    if (is_word_char(c))
      while (end < line.size() && is_word_char(line[end])) ++end;
    tokens.push_back({line.substr(at, end - at), std::nullopt});
    at = end;
  }
  return tokens;
}

std::vector<std::string_view> result_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  // Empty lines at the end are no result.
  while (!lines.empty() && trimmed(lines.back()).empty()) lines.pop_back();
  return lines;
}

bool same_token(const Token& a, const Token& b, const Tolerance& tolerance) {
  if (a.number && b.number) return tolerance.allows(*a.number, *b.number);
  return a.text == b.text;
}

double relative_difference(double a, double b) {
  const double larger = std::max(std::abs(a), std::abs(b));
  return larger == 0 ? 0 : std::abs(a - b) / larger;
}

std::string told(std::string_view text) {
  return std::string(text.size() <= kToldBytes ? text : text.substr(0, kToldBytes));
}

// The first difference of two lines; nothing where they are the same.
std::optional<OutputDifference> difference_of(std::string_view reference, std::string_view other,
                                              const Tolerance& tolerance, const LineRule& rule) {
  if (rule.free || reference == other) return std::nullopt;
  const std::vector<Token> a = tokens_of(reference), b = tokens_of(other);
  // Another number of words: which belongs to which is not known, so the whole lines are told.
  if (a.size() != b.size()) return OutputDifference{0, told(trimmed(reference)), told(trimmed(other))};
  for (std::size_t i = 0; i < a.size(); ++i) {
    Tolerance here = tolerance;
    if (const auto learned = rule.tokens.find(i); learned != rule.tokens.end()) {
      if (learned->second == LineRule::kAnything) continue;
      here.relative = std::max(here.relative, learned->second);
    }
    if (!same_token(a[i], b[i], here)) return OutputDifference{0, told(a[i].text), told(b[i].text)};
  }
  return std::nullopt;
}

LineRule rule_for(std::string_view good, std::string_view other, const Tolerance& tolerance) {
  LineRule rule;
  const std::vector<Token> a = tokens_of(good), b = tokens_of(other);
  rule.free = a.size() != b.size();
  for (std::size_t i = 0; !rule.free && i < a.size(); ++i) {
    if (same_token(a[i], b[i], tolerance)) continue;
    const bool numbers = a[i].number && b[i].number;
    const double apart = numbers ? relative_difference(*a[i].number, *b[i].number) : 1;
    rule.tokens[i] = apart > kRounding ? LineRule::kAnything : apart * kMargin;
  }
  return rule;
}

}  // namespace

bool Tolerance::allows(double a, double b) const {
  const double apart = std::abs(a - b);
  return apart <= absolute || apart <= relative * std::max(std::abs(a), std::abs(b));
}

Result<Tolerance> parse_tolerance(std::string_view text) {
  const std::size_t comma = text.find(',');
  Tolerance tolerance;
  const auto read = [](std::string_view word, double& into) {
    const auto number = number_at(word);
    if (!number || number->second != word.size() || number->first < 0) return false;
    into = number->first;
    return true;
  };
  if (read(text.substr(0, comma), tolerance.relative) &&
      (comma == text.npos || read(text.substr(comma + 1), tolerance.absolute)))
    return tolerance;
  return fail(Error(ErrorCode::bad_input, quote_for_message(text) + " is no tolerance")
                  .remedied_by("give REL or REL,ABS, as 1e-6 or 1e-6,1e-12"));
}

Result<OutputRules> learn_output_rules(std::string_view good, std::string_view other_good,
                                       Tolerance tolerance) {
  const auto a = result_lines(good), b = result_lines(other_good);
  if (a.size() != b.size())
    return fail(Error(ErrorCode::conflict,
                      fmt::format("the two good outputs have {} and {} lines", a.size(), b.size()))
                    .because("what may differ is learned line by line")
                    .remedied_by("compare a file that holds the result alone"));
  OutputRules rules{tolerance, {}};
  for (std::size_t i = 0; i < a.size(); ++i)
    if (LineRule rule = rule_for(a[i], b[i], tolerance); rule.free || !rule.tokens.empty())
      rules.lines.emplace(i, std::move(rule));
  return rules;
}

OutputComparison compare_outputs(std::string_view reference, std::string_view other,
                                 const OutputRules& rules) {
  const auto a = result_lines(reference), b = result_lines(other);
  OutputComparison result;
  static const LineRule kNone;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto learned = rules.lines.find(i);
    const LineRule& rule = learned == rules.lines.end() ? kNone : learned->second;
    std::optional<OutputDifference> found;
    if (i >= a.size() || i >= b.size())
      found = OutputDifference{0, i < a.size() ? told(a[i]) : "", i < b.size() ? told(b[i]) : ""};
    else
      found = difference_of(a[i], b[i], rules.tolerance, rule);
    if (!found) continue;
    ++result.different_lines;
    found->line = i + 1;
    if (result.first.size() < kMostTold) result.first.push_back(std::move(*found));
  }
  return result;
}

}  // namespace sickbay
