// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/key_comment.h"

namespace sickbay::slurm {
namespace {

/// What may stand inside a key; anything else ends it (a submit line quotes, accounting may add commas).
constexpr bool in_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
         c == '-' || c == ':';
}

}  // namespace

std::string comment_with_key(std::string_view own, std::string_view key) {
  std::string comment(own);
  if (!comment.empty()) comment += ' ';
  return comment.append(kKeyMark).append(key);
}

bool holds_key(std::string_view text, std::string_view key) {
  if (key.empty()) return false;
  const std::string word = std::string(kKeyMark).append(key);
  // A whole word: "c1.r2" must not be found in "c1.r21".
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool starts = at == 0 || !in_word(text[at - 1]);
    const bool ends = end == text.size() || !in_word(text[end]);
    if (starts && ends) return true;
  }
  return false;
}

std::string key_in(std::string_view text) {
  std::string key;
  for (auto at = text.find(kKeyMark); at != std::string_view::npos; at = text.find(kKeyMark, at + 1)) {
    if (at > 0 && in_word(text[at - 1])) continue;
    const auto begin = at + kKeyMark.size();
    auto end = begin;
    while (end < text.size() && in_word(text[end])) ++end;
    // (The last one: ours stands behind the user's own words.)
    if (end > begin) key = text.substr(begin, end - begin);
  }
  return key;
}

}  // namespace sickbay::slurm
