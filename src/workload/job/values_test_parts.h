// SPDX-License-Identifier: Apache-2.0
// Texts for the tests of parsers: right ones, and such as are nearly right.
#pragma once
#include <random>
#include <string>
#include <vector>

namespace sickbay::workload {

/// Texts near to the given ones: each with some bytes changed, put in or left out.
class Texts {
 public:
  Texts(std::vector<std::string> seeds, std::string alphabet)
      : seeds_(std::move(seeds)), alphabet_(std::move(alphabet)) {}
  std::string next() {
    std::string text = seeds_[random_() % seeds_.size()];
    for (std::size_t edits = random_() % 4; edits > 0; --edits) {
      const std::size_t at = random_() % (text.size() + 1);
      const char c = alphabet_[random_() % alphabet_.size()];
      switch (random_() % 3) {
        case 0:
          text.insert(at, 1, c);
          break;
        case 1:
          if (at < text.size()) text.erase(at, 1);
          break;
        default:
          if (at < text.size()) text[at] = c;
      }
    }
    return text;
  }

 private:
  std::vector<std::string> seeds_;
  std::string alphabet_;
  std::mt19937 random_{20261121};
};

}  // namespace sickbay::workload
