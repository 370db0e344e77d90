// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/nhc_conf.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/pattern.h"
#include "base/size.h"
#include "base/text.h"
#include "engine/diagnose/nhc_words.h"
#include "model/value.h"

namespace sickbay::diagnose {
namespace {

tl::unexpected<Error> refuse(std::string_view source, int line, const std::string& what) {
  return fail(Error(ErrorCode::bad_input, fmt::format("{}:{}: {}", source, line, what))
                  .remedied_by("a line of nhc.conf is TARGET || CHECK; see the README of LBNL NHC"));
}

bool has_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

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
      // As the shell's read: a backslash is for the character behind it, and a line's end behind it is gone.
      more = false;
      for (std::size_t i = 0; i < piece.size(); ++i) {
        const bool escapes = piece[i] == '\\';
        more = escapes && i + 1 == piece.size() && !text.empty();
        if (!escapes)
          joined += piece[i];
        else if (i + 1 < piece.size())
          joined += piece[++i];
      }
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
    const NhcWords words = split_nhc_check(made.check, {});
    if (words.open_quote)
      return refuse(source, first, fmt::format("a quote is open in {}", quote_for_message(made.check)));
    if (words.shell.empty() && words.commands.front().empty()) continue;  // a comment behind the bars
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
    const auto expression = Pattern::parse(pattern);
    if (!expression || cluster.empty()) {
      nodes.unresolved = cluster.empty()
                             ? "which nodes its target means is told only where --nodes names the cluster's"
                             : "its target is an expression that is not taken";
      return nodes;
    }
    for (const std::string& name : cluster)
      if (expression->fits(name)) names.push_back(name);
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
  nodes.nobody = nodes.names.empty();
  if (nodes.nobody)
    nodes.unresolved = fmt::format("its target fits none of the cluster's nodes{}",
                                   pattern.find('[') != std::string::npos && pattern.front() != '/'
                                       ? "; a range stands in braces, without them [] is one character"
                                       : "");
  return nodes;
}

std::optional<std::int64_t> parse_nhc_size(std::string_view word) {
  auto size = parse_size(word, BareUnit::kib);
  if (!size || size->count > kMostInteger) return std::nullopt;
  return size->count;
}

}  // namespace sickbay::diagnose
