// SPDX-License-Identifier: Apache-2.0
// Hostlists: the expansion agrees with a slow and obvious one, the compressed text stands for the same set.
#include <fmt/format.h>

#include <set>

#include "base/hostlist.h"
#include "property.h"

namespace {

using namespace sickbay;
using Names = std::vector<std::string>;

constexpr std::size_t kMost = 5000;  // names; more only makes the fuzzer slow

std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::size_t end = std::min(text.find_first_of(ends), text.size());
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return head;
}

// All names of one term that is known to be well-formed, by plain recursion.
Names slow_expand(std::string_view term) {
  const std::size_t open = term.find('[');
  if (open == std::string_view::npos) return {std::string(term)};
  const std::size_t close = term.find(']');
  const Names tails = slow_expand(term.substr(close + 1));
  Names names;
  std::string_view ranges = term.substr(open + 1, close - open - 1);
  while (!ranges.empty()) {
    std::string_view high = take_until(ranges, ",");
    const std::string low(take_until(high, "-"));
    const auto first = std::stoull(low), last = high.empty() ? first : std::stoull(std::string(high));
    for (auto number = first; number <= last; ++number)
      for (const std::string& tail : tails)
        names.push_back(fmt::format("{}{:0{}}{}", term.substr(0, open), number, low.size(), tail));
  }
  return names;
}

Names slow_expand_all(std::string_view text) {
  Names names;
  std::string term;
  bool inside = false;
  for (const char c : std::string(text) + ",") {
    if (c == '[') inside = true;
    if (c == ']') inside = false;
    if (!inside && std::string_view(", \t\r\n").find(c) != std::string_view::npos) {
      if (!term.empty())
        for (std::string& name : slow_expand(term)) names.push_back(std::move(name));
      term.clear();
    } else {
      term += c;
    }
  }
  return names;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = fuzz::as_text(bytes, size);
  const auto names = expand_hostlist(text, kMost);
  if (!names) {
    fuzz::check_refusal(names.error());
    return 0;
  }
  SB_CHECK(names->size() <= kMost, "the bound holds");
  if (!names->empty()) SB_CHECK(*names == slow_expand_all(text), "both expansions agree");

  const Names sorted = sorted_hosts(*names);
  SB_CHECK(std::set<std::string>(names->begin(), names->end()) ==
               std::set<std::string>(sorted.begin(), sorted.end()),
           "sorting keeps the set");
  SB_CHECK(std::adjacent_find(sorted.begin(), sorted.end(),
                              [](const auto& a, const auto& b) { return !host_less(a, b); }) == sorted.end(),
           "sorted, each name once");
  const std::string compressed = compress_hostlist(*names);
  const auto back = expand_hostlist(compressed, kMost);
  SB_CHECK(back && *back == sorted, "the compressed text stands for the same set");
  SB_CHECK(compress_hostlist(*back) == compressed, "one set, one text");
  std::size_t bytes_of_names = 0;
  for (const std::string& name : sorted) bytes_of_names += name.size() + 1;
  // Slurm's form is kept where it is longer: [1-2] for 1,2.
  SB_CHECK(compressed.size() <= bytes_of_names + 2 * sorted.size(), "brackets cost two bytes a prefix");

  // Every third name against the rest.
  Names some;
  for (std::size_t i = 0; i < sorted.size(); i += 3) some.push_back(sorted[i]);
  const Names rest = hosts_without(sorted, some);
  SB_CHECK(hosts_in_both(sorted, some) == some && hosts_in_both(rest, some).empty(), "sets");
  SB_CHECK(hosts_in_either(rest, some) == sorted, "sets");
  for (const std::string& name : some) SB_CHECK(has_host(sorted, name) && !has_host(rest, name), "sets");
  return 0;
}
