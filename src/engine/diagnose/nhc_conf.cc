// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/nhc_conf.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <regex.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/size.h"
#include "base/text.h"

namespace sickbay::diagnose {
namespace {

tl::unexpected<Error> refuse(std::string_view source, int line, const std::string& what) {
  return fail(Error(ErrorCode::bad_input, fmt::format("{}:{}: {}", source, line, what))
                  .remedied_by("a line of nhc.conf is TARGET || CHECK; see the README of LBNL NHC"));
}

// Splits a command into words as the shell does; `shell` where it holds what only a shell could do.
// False: a quote is open.
bool split_words(std::string_view check, NhcLine& out) {
  std::string word;
  bool in_word = false;
  const auto finish = [&] {
    if (in_word) out.words.push_back(std::move(word));
    word.clear();
    in_word = false;
  };
  for (std::size_t i = 0; i < check.size(); ++i) {
    const char c = check[i];
    if (c == ' ' || c == '\t') {
      finish();
    } else if (c == '\'' || c == '"') {
      in_word = true;
      for (++i; i < check.size() && check[i] != c; ++i) {
        if (c == '"' && (check[i] == '$' || check[i] == '`')) out.shell = true;
        if (c == '"' && check[i] == '\\' && i + 1 < check.size()) ++i;
        word += check[i];
      }
      if (i >= check.size()) return false;
    } else if (c == '\\') {
      in_word = true;
      if (i + 1 < check.size()) word += check[++i];
    } else if (c == '#' && !in_word) {
      break;
    } else {
      if (std::string_view("$`;&|<>()").find(c) != std::string_view::npos) out.shell = true;
      in_word = true;
      word += c;
    }
  }
  finish();
  return true;
}

bool is_setting(const NhcLine& line) {
  if (line.check.starts_with("export ")) return true;
  const auto equals = line.check.find('=');
  return equals != std::string::npos && equals > 0 &&
         std::ranges::all_of(line.check.substr(0, equals), [](char c) {
           return c == '_' || is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
         });
}

bool has_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

// POSIX extended, as the shell's =~; bounded, for its cost is not.  Nothing: the expression cannot be used.
std::optional<std::vector<std::string>> matching(const std::string& expression,
                                                 const std::vector<std::string>& cluster) {
  constexpr std::size_t kMost = 200;
  if (expression.size() > kMost || expression.find('{') != std::string::npos) return std::nullopt;
  for (std::size_t i = 1; i < expression.size(); ++i)
    if (expression[i - 1] == '\\' && is_digit(expression[i])) return std::nullopt;  // a back reference
  regex_t compiled;
  if (regcomp(&compiled, expression.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string& name : cluster)
    if (regexec(&compiled, name.c_str(), 0, nullptr, 0) == 0) names.push_back(name);
  regfree(&compiled);
  return names;
}

}  // namespace

Result<std::vector<NhcLine>> parse_nhc_conf(std::string_view text, std::string_view source) {
  if (text.size() > kMostNhcBytes)
    return refuse(source, 1,
                  fmt::format("the file has {} bytes, the bound is {}", text.size(), kMostNhcBytes));
  std::vector<NhcLine> lines;
  int number = 0;
  while (!text.empty()) {
    std::string joined;
    const int first = number + 1;
    for (bool more = true; more;) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view piece = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++number;
      more = piece.ends_with('\\') && !text.empty();
      if (more) piece.remove_suffix(1);
      joined += piece;
    }
    const std::string_view line = trimmed(joined);
    if (line.empty() || line[0] == '#') continue;
    const std::size_t bars = line.find("||");
    if (bars == std::string_view::npos)
      return refuse(source, first, fmt::format("{} has no '||'", quote_for_message(line)));
    NhcLine made;
    made.line = first;
    made.target = trimmed(line.substr(0, bars));
    made.check = trimmed(line.substr(bars + 2));
    if (made.target.empty() || made.check.empty())
      return refuse(
          source, first,
          fmt::format("{} lacks the {}", quote_for_message(line), made.target.empty() ? "target" : "check"));
    made.setting = is_setting(made);
    if (!split_words(made.check, made))
      return refuse(source, first, fmt::format("a quote is open in {}", quote_for_message(made.check)));
    if (made.words.empty()) continue;  // a comment behind the bars
    if (made.shell) made.words.clear();
    lines.push_back(std::move(made));
  }
  return lines;
}

NhcNodes resolve_nhc_target(std::string_view target, const std::vector<std::string>& cluster) {
  const bool negated = target.starts_with('!');
  if (negated) target.remove_prefix(1);
  const std::string pattern(target);
  NhcNodes nodes;
  if (pattern == "*" && !negated) {
    nodes.all = true;
    return nodes;
  }
  std::vector<std::string> names;
  if (pattern.size() >= 2 && pattern.front() == '{' && pattern.back() == '}') {
    auto expanded = expand_hostlist(std::string_view(pattern).substr(1, pattern.size() - 2), 100'000);
    if (!expanded) {
      nodes.unresolved = fmt::format("its target is no list of names: {}", expanded.error().what);
      return nodes;
    }
    names = sorted_hosts(std::move(*expanded));
  } else if (pattern.size() >= 2 && pattern.front() == '/' && pattern.back() == '/') {
    auto matched = matching(pattern.substr(1, pattern.size() - 2), cluster);
    if (!matched || cluster.empty()) {
      nodes.unresolved = cluster.empty()
                             ? "which nodes its target means is told only where --nodes names the cluster's"
                             : "its target is an expression that is not taken";
      return nodes;
    }
    names = std::move(*matched);
  } else if (has_glob(pattern)) {
    if (cluster.empty()) {
      nodes.unresolved = "which nodes its target means is told only where --nodes names the cluster's";
      return nodes;
    }
    for (const std::string& name : cluster)
      if (pattern.size() <= kMaxHostNameLength && fnmatch(pattern.c_str(), name.c_str(), 0) == 0)
        names.push_back(name);
  } else {
    auto one = expand_hostlist(pattern, 1);
    if (!one || one->size() != 1) {
      nodes.unresolved = "its target is no name of a node";
      return nodes;
    }
    names = std::move(*one);
  }
  if (negated && cluster.empty()) {
    nodes.unresolved = "which nodes its target means is told only where --nodes names the cluster's";
    return nodes;
  }
  nodes.names = negated ? hosts_without(cluster, names) : names;
  if (nodes.names.empty())
    nodes.unresolved = fmt::format("its target fits none of the cluster's nodes{}",
                                   pattern.find('[') != std::string::npos && pattern.front() != '/'
                                       ? "; a range stands in braces, without them [] is one character"
                                       : "");
  return nodes;
}

std::optional<std::int64_t> parse_nhc_size(std::string_view word) {
  auto size = parse_size(word, BareUnit::kib);
  if (!size || size->count > (std::int64_t{1} << 53)) return std::nullopt;
  return size->count;
}

}  // namespace sickbay::diagnose
