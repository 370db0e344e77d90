// SPDX-License-Identifier: Apache-2.0
#include "base/pattern.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <regex.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay {
namespace {

constexpr std::int64_t kMostRepeats = 255;
constexpr std::size_t kMostNames = 100'000;

tl::unexpected<Error> refuse_pattern(std::string_view written, std::string_view why) {
  return fail(Error(ErrorCode::bad_input, fmt::format("the pattern {} {}", quote_for_message(written), why))
                  .remedied_by("a pattern is a glob, /an expression/ or {a list of names}"));
}

// Where the set that begins at `at` ends; at the expression's end where nothing ends it (which the library
// refuses).  In a set '{', '[' and '\' mean themselves, and so does a ']' right behind its begin.
std::size_t end_of_set(std::string_view expression, std::size_t at) {
  ++at;
  if (at < expression.size() && expression[at] == '^') ++at;
  if (at < expression.size() && expression[at] == ']') ++at;
  while (at < expression.size() && expression[at] != ']') {
    const std::string_view rest = expression.substr(at);
    // [:digit:], [.x.] and [=x=] have a ']' of their own.
    const bool named = rest.starts_with("[:") || rest.starts_with("[.") || rest.starts_with("[=");
    if (!named) {
      ++at;
      continue;
    }
    const std::size_t end = rest.find(std::string{rest[1], ']'}, 2);
    if (end == rest.npos) return expression.size();
    at += end + 2;
  }
  return at;
}

// Why an expression is not taken; "" where it is.  A repetition of repetitions multiplies what the library
// builds, and a back reference what it searches.
std::string_view objection(std::string_view expression) {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\') {
      if (++i < expression.size() && is_digit(expression[i])) return "has a back reference";
    } else if (c == '[') {
      i = end_of_set(expression, i);
    } else if (c == '{') {
      const std::size_t end = expression.find('}', i);
      if (end == std::string_view::npos) continue;
      std::string_view counts = expression.substr(i + 1, end - i - 1);
      std::int64_t most = 1;
      while (!counts.empty())
        // The larger of "{2,9}": that many copies the library builds.
        if (const auto count = to_integer(next_part(counts, ','))) most = std::max(most, *count);
      // (Bounded, so that the product of two cannot wrap before it is compared.)
      product *= std::min<std::int64_t>(most, 1 << 16);
      if (product > kMostRepeats) return "repeats too often";
    }
  }
  return "";
}

}  // namespace

struct Pattern::Compiled {
  regex_t regex{};
  bool made = false;
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (made) ::regfree(&regex);
  }
};

Result<Pattern> Pattern::parse(std::string_view written, bool takes_parts) {
  Pattern made;
  made.written_ = written;
  if (written.size() > kMostPattern) return refuse_pattern(written, "is too long");
  // regcomp() and fnmatch() end at a zero byte: the rest would not be looked at.
  if (written.find('\0') != std::string_view::npos) return refuse_pattern(written, "holds a zero byte");
  std::string_view rest = written;
  if (rest.starts_with('!')) {
    made.negated_ = true;
    rest.remove_prefix(1);
  }
  const auto within = [rest](char open, char close) {
    return rest.size() >= 2 && rest.front() == open && rest.back() == close;
  };
  if (takes_parts && (made.negated_ || !within('/', '/')))
    return refuse_pattern(written, "is no expression, and no part can be taken by it");
  if (within('/', '/')) {
    const std::string expression(rest.substr(1, rest.size() - 2));
    if (const auto why = objection(expression); !why.empty()) return refuse_pattern(written, why);
    auto compiled = std::make_shared<Compiled>();
    if (::regcomp(&compiled->regex, expression.c_str(), REG_EXTENDED | (takes_parts ? 0 : REG_NOSUB)) != 0)
      return refuse_pattern(written, "is no expression");
    compiled->made = true;
    made.expression_ = std::move(compiled);
  } else if (within('{', '}')) {
    auto names = expand_hostlist(rest.substr(1, rest.size() - 2), kMostNames);
    if (!names) return refuse_pattern(written, "is no list of names: " + names.error().what);
    std::sort(names->begin(), names->end());
    made.list_ = std::make_shared<const std::vector<std::string>>(std::move(*names));
  } else {
    made.glob_ = rest;
  }
  return made;
}

bool Pattern::fits_plain(std::string_view text) const {
  text = text.substr(0, kMostMatched);
  if (expression_) {
    // REG_STARTEND takes the length from here: the text is a view and may hold zero bytes.
    regmatch_t bounds{0, static_cast<regoff_t>(text.size())};
    return ::regexec(&expression_->regex, text.empty() ? "" : text.data(), 0, &bounds, REG_STARTEND) == 0;
  }
  if (list_) return std::binary_search(list_->begin(), list_->end(), text);
  return ::fnmatch(glob_.c_str(), std::string(text).c_str(), FNM_EXTMATCH) == 0;
}

std::optional<std::string_view> Pattern::part_of(std::string_view text) const {
  if (!expression_) return std::nullopt;
  text = text.substr(0, kMostParted);
  regmatch_t parts[2] = {{0, static_cast<regoff_t>(text.size())}, {-1, -1}};
  const char* begin = text.empty() ? "" : text.data();
  if (::regexec(&expression_->regex, begin, 2, parts, REG_STARTEND) != 0) return std::nullopt;
  const regmatch_t& taken = expression_->regex.re_nsub > 0 ? parts[1] : parts[0];
  if (taken.rm_so < 0) return std::string_view();
  return text.substr(static_cast<std::size_t>(taken.rm_so),
                     static_cast<std::size_t>(taken.rm_eo - taken.rm_so));
}

Result<Patterns> Patterns::parse(std::string_view lines) {
  Patterns all;
  while (const auto line = next_line(lines)) {
    if (line->empty()) continue;
    auto one = Pattern::parse(*line);
    if (!one) return fail(std::move(one.error()));
    all.patterns_.push_back(std::move(*one));
  }
  return all;
}

std::optional<std::string> Patterns::missed_by(const std::vector<std::string_view>& lines) const {
  for (const Pattern& p : patterns_) {
    const bool found =
        std::any_of(lines.begin(), lines.end(), [&](std::string_view line) { return p.fits_plain(line); });
    // A negated one must fit no line at all, any other at least one.
    if (found == p.negated()) return p.written();
  }
  return std::nullopt;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (auto line = next_line(text)) {
    if (line->ends_with('\r')) line->remove_suffix(1);
    lines.push_back(*line);
  }
  return lines;
}

}  // namespace sickbay
