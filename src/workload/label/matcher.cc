// SPDX-License-Identifier: Apache-2.0
#include "workload/label/matcher.h"

namespace sickbay::workload {

void Matcher::build(const std::vector<std::string>& words) {
  // The trie, in order of insertion.
  std::vector<std::array<std::uint32_t, kSymbols>> trie(1);
  std::vector<std::vector<std::uint32_t>> ends(1);
  length_.clear();
  for (std::uint32_t w = 0; w < words.size(); ++w) {
    length_.push_back(static_cast<std::uint32_t>(words[w].size()));
    std::uint32_t at = 0;
    for (const char c : words[w]) {
      std::uint32_t to = trie[at][symbol_of(c)];
      if (to == 0) {
        to = static_cast<std::uint32_t>(trie.size());
        trie[at][symbol_of(c)] = to;
        trie.emplace_back();
        ends.emplace_back();
      }
      at = to;
    }
    if (at != 0) ends[at].push_back(w);
  }

  // Numbered anew by depth; then a state's links are to smaller numbers, which are already complete.
  std::vector<std::uint32_t> order{0}, number(trie.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::uint32_t to : trie[order[i]])
      if (to != 0) {
        number[to] = static_cast<std::uint32_t>(order.size());
        order.push_back(to);
      }
  next_.assign(order.size() * kSymbols, 0);
  link_.assign(order.size(), 0);
  first_output_.assign(order.size(), 0);
  outputs_begin_.assign(order.size() + 1, 0);
  outputs_.clear();
  for (std::uint32_t s = 0; s < order.size(); ++s) {
    outputs_begin_[s] = static_cast<std::uint32_t>(outputs_.size());
    outputs_.insert(outputs_.end(), ends[order[s]].begin(), ends[order[s]].end());
    first_output_[s] = ends[order[s]].empty() ? (s == 0 ? 0 : first_output_[link_[s]]) : s;
    for (int c = 0; c < kSymbols; ++c) {
      const std::uint32_t to = trie[order[s]][static_cast<std::size_t>(c)];
      const std::uint32_t fallback = s == 0 ? 0 : next_[link_[s] * kSymbols + static_cast<std::uint32_t>(c)];
      next_[s * kSymbols + static_cast<std::uint32_t>(c)] = to == 0 ? fallback : number[to];
      if (to != 0) link_[number[to]] = fallback;
    }
  }
  outputs_begin_[order.size()] = static_cast<std::uint32_t>(outputs_.size());
}

}  // namespace sickbay::workload
