// SPDX-License-Identifier: Apache-2.0
// The words that the lists know, found in one name: keywords of applications, signs that make an ambiguous
// keyword sure, and words that rule an application out.
//
// Role: what stands in a name, and how much each hit is worth; label.cc weighs names against each other.
// Idea: a wrong label is worse than none, so a hit must stand at a word's bounds, outside of digests and
// random ids, and a keyword that is also something else (g16: a program, and a grid of climate models) counts
// only alone in the name or with a sign of the same application beside it.
// Invariants: pure, nothing is allocated by a search; safe for several threads once built.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workload/label/lists.h"
#include "workload/label/matcher.h"

namespace sickbay::workload {

// Names are found whatever their case, without a copy in small letters.
struct FoldedHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    std::uint64_t h = 14695981039346656037ULL;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(to_lower(c))) * 1099511628211ULL;
    return h ^ (h >> 29);
  }
};
struct FoldedEqual {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return equal_ignoring_case(a, b); }
};
template <class V>
using FoldedMap = std::unordered_map<std::string, V, FoldedHash, FoldedEqual>;

/// A word of the matcher.
struct Word {
  enum class Role : std::uint8_t { keyword, sign, rules_out };
  std::uint32_t application = 0;
  Role role = Role::keyword;
  Match match = Match::word;
  Needs needs = Needs::nothing;
  std::uint32_t length = 0;
  std::uint64_t groups = 0;  ///< rules_out: of all applications of these groups, not of one
  std::string_view version = {};
};
struct Hit {
  const Word* word = nullptr;
  std::uint32_t begin = 0, end = 0;
};
struct Hits {
  static constexpr int kMost = 64;
  std::array<Hit, kMost> list;
  int count = 0;
  bool ruling_out = false;  ///< one of them may rule another out
};

class Words {
 public:
  /// `lists` must outlive it.
  void build(const Lists& lists);

  /// What stands in `text`, at the bounds of words, in order of its end.
  void find(std::string_view text, std::string_view user, Hits& hits) const;
  /// A word beside it says that it is something else.
  bool ruled_out(const Hits& hits, const Hit& hit) const;
  /// The hit's application has another word among `hits`; `beside`: these are of the same text.
  bool has_sign(const Hits& hits, const Hit& hit, bool beside) const;
  /// Beside the hit stand only numbers and words that say nothing ("run_g16_test3").
  bool alone(std::string_view text, const Hit& hit, std::string_view user) const;

 private:
  bool begins_word(std::string_view text, std::size_t at, std::size_t length) const;
  bool ends_word(std::string_view text, std::size_t at, std::size_t length, bool cut) const;
  bool glued(const FoldedMap<char>& list, std::string_view letters) const {
    return !letters.empty() && letters.size() <= 12 && list.find(letters) != list.end();
  }

  const Lists* lists_ = nullptr;
  Matcher matcher_;
  std::vector<Word> words_;
  FoldedMap<char> before_, after_, empty_;
};

}  // namespace sickbay::workload
