// SPDX-License-Identifier: Apache-2.0
// Spelling: the known word that somebody meant, for "did you mean 'drain'?" in error messages.
//
// Distance counts letters put in, left out, changed, and neighbours swapped (Damerau's, in the form where no
// part is edited twice); the case of letters does not count.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sickbay {

/// The candidate nearest to `word`, the first of equals; "" when none is near: 1 edit for words of up to 3
/// letters, 2 up to 6, else 3, and never so many that no letter of the word is left.  Words over 64 bytes
/// are near nothing.  O(candidates * length²).
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);
std::string did_you_mean(std::string_view word, std::initializer_list<std::string_view> candidates);
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// The number of edits between two words, without regard to case; `most` + 1 where there are more.
int edit_distance(std::string_view a, std::string_view b, int most);

}  // namespace sickbay
