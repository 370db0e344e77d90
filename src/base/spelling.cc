// SPDX-License-Identifier: Apache-2.0
#include "base/spelling.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"

namespace sickbay {
namespace {
constexpr std::size_t kMaxWord = 64;
}  // namespace

int edit_distance(std::string_view a, std::string_view b, int most) {
  if (a.size() > kMaxWord || b.size() > kMaxWord) return most + 1;
  // Each edit changes the length by one at most.
  if (std::abs(static_cast<int>(a.size()) - static_cast<int>(b.size())) > most) return most + 1;
  // Three rows of the table: the swap of neighbours looks two rows back.
  using Row = std::array<int, kMaxWord + 1>;
  Row before{}, last{}, now{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = to_lower(a[i - 1]) == to_lower(b[j - 1]);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) &&
          to_lower(a[i - 2]) == to_lower(b[j - 1]))
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
  }
  return std::min(last[b.size()], most + 1);
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const int length = static_cast<int>(std::min(word.size(), kMaxWord + 1));
  // The fewer letters a word has, the sooner it is near to any other.
  int most = length <= 3 ? 1 : length <= 6 ? 2 : 3;
  // Not all letters of it: then any word as long would be "near".
  most = std::min(most, length - 1);
  std::string_view nearest;
  for (const std::string_view candidate : candidates) {
    if (most < 0) break;
    const int edits = edit_distance(word, candidate, most);
    if (edits > most) continue;
    nearest = candidate;
    most = edits - 1;  // only a nearer one counts from here on
  }
  return std::string(nearest);
}

std::string did_you_mean(std::string_view word, std::initializer_list<std::string_view> candidates) {
  return did_you_mean(word, std::span<const std::string_view>(candidates.begin(), candidates.size()));
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return did_you_mean(word, views);
}

}  // namespace sickbay
