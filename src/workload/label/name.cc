// SPDX-License-Identifier: Apache-2.0
#include "workload/label/name.h"

#include <algorithm>

namespace sickbay::workload {
namespace {

constexpr std::string_view kExtensions[] = {
    "sh",  "bash", "csh",    "zsh", "tcsh", "slurm", "sbatch", "batch", "sub", "subm",
    "job", "run",  "pbs",    "lsf", "bat",  "cmd",   "py",     "r",     "jl",  "m",
    "pl",  "rb",   "x",      "exe", "bin",  "in",    "inp",    "com",   "gjf", "script",
    "psc", "sb",   "submit", "slm", "smk",  "nf",    "txt",    "ex",    "jar", "app"};
constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};

constexpr bool is_separator(char c) { return c == '_' || c == '-' || c == '.' || c == ' '; }

std::size_t digits_at(std::string_view text, std::size_t i) {
  std::size_t n = 0;
  while (i + n < text.size() && is_digit(text[i + n])) ++n;
  return n;
}

// "29Oct20", "29Oct2020": what LAMMPS calls its versions.
bool is_date_word(std::string_view word) {
  const std::size_t day = digits_at(word, 0);
  if (day < 1 || day > 2 || word.size() < day + 5) return false;
  const std::string_view month = word.substr(day, 3);
  const std::size_t year = digits_at(word, day + 3);
  return (year == 2 || year == 4) && day + 3 + year == word.size() &&
         std::any_of(std::begin(kMonths), std::end(kMonths),
                     [&](std::string_view m) { return equal_ignoring_case(m, month); });
}

// The version that `word` begins with, all of the word but for an extension; empty: none.
std::string_view version_word(std::string_view word, bool grown, bool first, bool program) {
  bool marked = false;
  std::size_t begin = 0;
  if (!word.empty() && (word[0] == 'v' || word[0] == 'V') && digits_at(word, 1) > 0) marked = true, begin = 1;
  std::size_t i = begin, parts = 0, first_digits = 0;
  while (true) {
    const std::size_t n = digits_at(word, i);
    if (n == 0 || n > 8)
      return is_date_word(word.substr(0, word.find('.'))) ? word.substr(0, word.find('.')) : "";
    if (parts == 0) first_digits = n;
    i += n;
    ++parts;
    if (i + 1 < word.size() && word[i] == '.' && is_digit(word[i + 1])) {
      ++i;
      continue;
    }
    break;
  }
  std::size_t end = i;
  // "pl2", "rc1", "p3", "b", with or without a dot, belong to it.
  std::size_t tail = i < word.size() && word[i] == '.' ? i + 1 : i;
  const std::size_t letters_begin = tail;
  while (tail < word.size() && is_letter(word[tail])) ++tail;
  const std::string_view letters = word.substr(letters_begin, tail - letters_begin);
  const std::size_t more = digits_at(word, tail);
  if (more > 0 && (equal_ignoring_case(letters, "pl") || equal_ignoring_case(letters, "rc") ||
                   equal_ignoring_case(letters, "p") || equal_ignoring_case(letters, "patch")))
    end = tail + more;
  else if (letters.size() == 1 && letters_begin == i && tail == word.size())
    end = tail;
  const std::string_view rest = word.substr(end);
  if (!rest.empty() && rest[0] != '.') return is_date_word(word) ? word : "";
  const std::string_view version = word.substr(begin, end - begin);
  const std::string_view number = word.substr(begin, first_digits);
  if (parts >= 3) return version;
  if (parts == 2) return number == "0" || first_digits > 4 ? "" : (first || marked || program ? version : "");
  if (first_digits == 4 && (number.starts_with("19") || number.starts_with("20"))) return version;
  if (first_digits == 8 && number.starts_with("20")) return version;
  if (marked) return version;
  return program && grown && first_digits <= 2 ? version : std::string_view();
}

}  // namespace

std::string normal_form(std::string_view text) {
  std::string out;
  for (const char c : text) out += symbol_of(c) == 1 ? '-' : to_lower(c);
  return out;
}

std::string_view without_extension(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return name;
  std::string_view extension = name.substr(dot + 1);
  if (is_cut(extension)) extension.remove_suffix(1);
  for (const std::string_view known : kExtensions)
    if (equal_ignoring_case(known, extension)) return name.substr(0, dot);
  // "job.script" cut to "job.scri+": the start of a known one.
  if (name.ends_with('+') && extension.size() > 1 && is_cut(name)) {
    extension.remove_suffix(1);
    for (const std::string_view known : kExtensions)
      if (known.size() > extension.size() &&
          equal_ignoring_case(known.substr(0, extension.size()), extension))
        return name.substr(0, dot);
  }
  return name;
}

std::string_view stem_of(std::string_view name, std::string_view user) {
  std::string_view stem = without_extension(base_name(name));
  if (is_cut(stem)) stem.remove_suffix(1);
  while (true) {
    const std::size_t before = stem.size();
    std::string_view shorter = stem;
    // The last word, when it is a number, a version, a date or the user.
    std::size_t word = shorter.size();
    while (word > 0 && !(shorter[word - 1] == '_' || shorter[word - 1] == '-' || shorter[word - 1] == ' '))
      --word;
    const std::string_view last = shorter.substr(word);
    if (word > 0 && !last.empty() &&
        ((!user.empty() && equal_ignoring_case(last, user)) || is_date_word(last) ||
         !version_word(last, false, true, false).empty()))
      shorter = shorter.substr(0, word);
    while (!shorter.empty() && (is_digit(shorter.back()) || is_separator(shorter.back())))
      shorter.remove_suffix(1);
    if (shorter.empty() || shorter.size() == before) return stem;
    stem = shorter;
  }
}

bool in_digest(std::string_view text, std::size_t begin, std::size_t end) {
  std::size_t from = begin, to = end;
  while (from > 0 && is_alnum(text[from - 1])) --from;
  while (to < text.size() && is_alnum(text[to])) ++to;
  std::size_t hex = 0, changes = 0;
  for (std::size_t i = from; i < to; ++i) {
    hex += is_hex_digit(text[i]);
    changes += i > from && is_digit(text[i]) != is_digit(text[i - 1]);
  }
  const std::size_t length = to - from;
  if (hex == length) {
    // A short one ("3dec2021") may be a name; a commit's has seven digits at least.
    if (changes >= 1 && (length >= 12 || (length >= 7 && changes >= 3))) return true;
    // One group of a UUID: 8-4-4-4-12.
    const auto in_uuid = [](char c) { return is_hex_digit(c) || c == '-'; };
    std::size_t a = from, b = to, digits = 0, dashes = 0;
    while (a > 0 && in_uuid(text[a - 1])) --a;
    while (b < text.size() && in_uuid(text[b])) ++b;
    for (std::size_t i = a; i < b; ++i) (text[i] == '-' ? dashes : digits) += 1;
    return digits >= 32 && dashes >= 4;
  }
  // Base 32 and the like: longer than words are, letters and digits at random.  A long keyword is no chance.
  return end - begin < 6 && length >= 12 && changes >= 4 && from != begin;
}

std::string_view version_in(std::string_view rest, bool program) {
  std::size_t at = 0;
  for (int word = 0; word < 3 && at <= rest.size(); ++word) {
    const std::size_t begin = at;
    bool grown = word == 0;
    std::size_t skip = begin;
    while (skip < rest.size() && (is_separator(rest[skip]) || rest[skip] == '/' || rest[skip] == '@')) {
      grown = false;
      // Blanks end a step's name: the next one's number is not this one's version.
      if (rest[skip] == ' ' && program) return {};
      ++skip;
    }
    std::size_t end = skip;
    while (end < rest.size() && rest[end] != '_' && rest[end] != '-' && rest[end] != '/' && rest[end] != ' ')
      ++end;
    std::string_view text = rest.substr(skip, end - skip);
    if (text.empty()) return {};
    if (text.size() > 1 && text.ends_with('+')) return {};  // cut: who knows how it goes on
    if (const auto version = version_word(text, grown, word == 0, program); !version.empty()) return version;
    at = end;
  }
  return {};
}

}  // namespace sickbay::workload
