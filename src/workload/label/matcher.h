// SPDX-License-Identifier: Apache-2.0
// All keywords found in a name in one pass over its bytes (Aho and Corasick, 1975), each with its bounds.
//
// A table of states by symbols: 40 columns of 16 or 32 bits, states in order of depth, so that the few states
// near the root, where most names stay, lie together.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "workload/label/name.h"

namespace sickbay::workload {

class Matcher {
 public:
  /// Words by their index in `words`; several may be the same.
  void build(const std::vector<std::string>& words);

  /// Calls found(word index, begin, end) for each place where a word ends, of words that end together the
  /// longest first.
  template <class Found>
  void scan(std::string_view text, Found&& found) const {
    std::uint32_t state = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      state = next_[state * kSymbols + symbol_of(text[i])];
      for (std::uint32_t at = first_output_[state]; at != 0; at = first_output_[link_[at]])
        for (std::uint32_t o = outputs_begin_[at]; o < outputs_begin_[at + 1]; ++o)
          found(outputs_[o], i + 1 - length_[outputs_[o]], i + 1);
    }
  }

 private:
  std::vector<std::uint32_t> next_;          ///< state * kSymbols + symbol
  std::vector<std::uint32_t> link_;          ///< the state of the longest proper suffix
  std::vector<std::uint32_t> first_output_;  ///< this or the nearest suffix at which a word ends; 0: none
  std::vector<std::uint32_t> outputs_begin_, outputs_;
  std::vector<std::uint32_t> length_;
};

}  // namespace sickbay::workload
