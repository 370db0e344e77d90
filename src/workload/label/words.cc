// SPDX-License-Identifier: Apache-2.0
#include "workload/label/words.h"

#include <algorithm>
#include <map>

#include "workload/label/name.h"

namespace sickbay::workload {
namespace {

constexpr std::size_t kShort = 4;  // keywords below it must stand alone between separators

bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool upper(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

void Words::build(const Lists& lists) {
  lists_ = &lists;
  std::vector<std::string> texts;
  const auto add = [&](const std::string& text, Word word) {
    texts.push_back(normal_form(text));
    word.length = static_cast<std::uint32_t>(text.size());
    words_.push_back(word);
  };
  std::map<std::string, std::uint64_t> of_groups;  // one word for all groups: names would overflow with hits
  for (const auto& [text, group] : lists.not_of_group)
    of_groups[normal_form(text)] |= std::uint64_t{1} << group;
  for (const auto& [text, groups] : of_groups) add(text, {.role = Word::Role::rules_out, .groups = groups});
  for (std::uint32_t a = 0; a < lists.applications.size(); ++a) {
    const Application& application = lists.applications[a];
    for (const Keyword& k : application.keywords)
      if (k.match != Match::executable)
        add(k.text, {.application = a, .match = k.match, .needs = k.needs, .version = k.version});
    for (const std::string& w : application.not_words)
      add(w, {.application = a, .role = Word::Role::rules_out});
    for (const std::string& w : application.signs) add(w, {.application = a, .role = Word::Role::sign});
  }
  matcher_.build(texts);
  for (const std::string& n : lists.before) before_.emplace(n, 1), empty_.emplace(n, 1);
  for (const std::string& n : lists.after) after_.emplace(n, 1), empty_.emplace(n, 1);
  for (const auto& [name, kind] : lists.unknown)
    if (kind == "default_name") empty_.emplace(name, 1);
}

// "run-vasp", "2vasp", "runVasp", "GPUVasp" and, by the list of glue, "runvasp".
bool Words::begins_word(std::string_view text, std::size_t at, std::size_t length) const {
  if (at == 0) return true;
  const char last = text[at - 1], first = text[at];
  if (!is_alnum(last) || !is_alnum(first)) return true;
  if (length < kShort) return false;
  if (is_digit(last) != is_digit(first)) return true;
  if (is_digit(last)) return false;
  if (lower(last) && upper(first)) return true;
  if (upper(last) && upper(first) && at + 1 < text.size() && lower(text[at + 1])) return true;
  std::size_t from = at;
  while (from > 0 && is_letter(text[from - 1])) --from;
  return glued(before_, text.substr(from, at - from));
}

bool Words::ends_word(std::string_view text, std::size_t at, std::size_t length, bool cut) const {
  if (cut && at + 1 == text.size()) return length > kShort;  // the name may have gone on
  if (at == text.size()) return true;
  const char last = text[at - 1], first = text[at];
  if (!is_alnum(first) || !is_alnum(last)) return true;
  if (is_digit(last) && is_digit(first)) return false;
  if (is_letter(last) && is_digit(first)) return length + 1 >= kShort;
  std::size_t to = at;
  while (to < text.size() && is_letter(text[to])) ++to;
  if (to == at + 1 && to_lower(first) == 'v' && to < text.size() && is_digit(text[to]))
    return true;  // "wrfv4"
  if (is_digit(last)) return length >= kShort || glued(after_, text.substr(at, to - at));
  if (length < kShort) return false;
  if (lower(last) && upper(first)) return true;
  if (upper(last) && lower(first) && at >= 2 && upper(text[at - 2])) return true;
  return glued(after_, text.substr(at, to - at));
}

void Words::find(std::string_view text, std::string_view user, Hits& hits) const {
  hits.count = 0;
  hits.ruling_out = false;
  const bool cut = is_cut(text);
  matcher_.scan(text, [&](std::uint32_t index, std::size_t begin, std::size_t end) {
    if (hits.count == Hits::kMost) return;
    const Word& w = words_[index];
    if (w.match == Match::word &&
        (!begins_word(text, begin, w.length) || !ends_word(text, end, w.length, cut)))
      return;
    if (w.match == Match::whole) {
      // A cut name may have gone on, so that it is not whole.
      const std::string_view stem = stem_of(text, user), bare = without_extension(base_name(text));
      const char* b = text.data() + begin;
      if (cut || b != stem.data() || (w.length != stem.size() && w.length != bare.size())) return;
    }
    if (in_digest(text, begin, end)) return;
    hits.ruling_out = hits.ruling_out || w.role == Word::Role::rules_out;
    hits.list[static_cast<std::size_t>(hits.count++)] = {&w, static_cast<std::uint32_t>(begin),
                                                         static_cast<std::uint32_t>(end)};
  });
}

bool Words::ruled_out(const Hits& hits, const Hit& hit) const {
  if (!hits.ruling_out) return false;
  const std::uint64_t group = lists_->applications[hit.word->application].group;
  return std::any_of(hits.list.begin(), hits.list.begin() + hits.count, [&](const Hit& other) {
    if (other.word->role != Word::Role::rules_out) return false;
    if (other.word->groups != 0) return group != kNoGroup && ((other.word->groups >> group) & 1) != 0;
    return other.word->application == hit.word->application;
  });
}

bool Words::has_sign(const Hits& hits, const Hit& hit, bool beside) const {
  return std::any_of(hits.list.begin(), hits.list.begin() + hits.count, [&](const Hit& other) {
    if (other.word == hit.word || other.word->role == Word::Role::rules_out ||
        other.word->application != hit.word->application)
      return false;
    return !beside || other.end <= hit.begin || other.begin >= hit.end;
  });
}

bool Words::alone(std::string_view text, const Hit& hit, std::string_view user) const {
  text = without_extension(text);
  for (std::size_t at = 0; at < text.size();) {
    if (at == hit.begin) {
      at = hit.end;
      continue;
    }
    if (!is_letter(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_letter(text[end]) && end != hit.begin) ++end;
    const std::string_view word = text.substr(at, end - at);
    // A letter alone is an index ("trinityB"), but "20d" is a dimension.
    const bool index = word.size() == 1 && (at == 0 || !is_digit(text[at - 1]));
    if (!index && empty_.find(word) == empty_.end() && !equal_ignoring_case(word, user)) return false;
    at = end;
  }
  return true;
}

}  // namespace sickbay::workload
