// SPDX-License-Identifier: Apache-2.0
// Hot: called once for each job of an import, from several threads.  Nothing is allocated; a name's bytes are
// read once by the matcher, and the few hits are judged by what stands around them.
#include "workload/label/label.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "model/sbatch_options.h"
#include "workload/label/lists.h"
#include "workload/label/matcher.h"
#include "workload/label/name.h"

namespace sickbay::workload {
namespace {

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

constexpr std::size_t kMostBytes = 4096;  // of one text; what is behind says nothing new
constexpr int kMostHits = 48;
constexpr std::size_t kShort = 4;  // keywords below it must stand alone between separators

// A word of the matcher: a keyword of an application, or one of its not-words.
struct Word {
  std::uint32_t application = 0;
  Match match = Match::word;
  bool negative = false;
  std::uint32_t length = 0;
  std::string_view version;
};
struct Hit {
  const Word* word = nullptr;
  std::uint32_t begin = 0, end = 0;
};
struct Program {
  std::uint32_t application = 0;
  std::string_view version;
};

std::string in_small_letters(std::string_view text) {
  std::string out;
  for (const char c : text) out += to_lower(c);
  return out;
}

// The first of the sorted names that begins as the cut one does, or null.
const std::pair<std::string, std::string_view>* begun_by(
    const std::vector<std::pair<std::string, std::string_view>>& sorted, std::string_view cut) {
  cut.remove_suffix(1);
  const auto less = [](std::string_view a, std::string_view b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      return static_cast<unsigned char>(to_lower(x)) < static_cast<unsigned char>(to_lower(y));
    });
  };
  const auto at =
      std::lower_bound(sorted.begin(), sorted.end(), cut,
                       [&](const auto& entry, std::string_view name) { return less(entry.first, name); });
  const bool begins = at != sorted.end() && at->first.size() >= cut.size() &&
                      equal_ignoring_case(std::string_view(at->first).substr(0, cut.size()), cut);
  return begins ? &*at : nullptr;
}

bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool upper(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

struct Labeller::Impl {
  Lists lists;
  Matcher matcher;
  std::vector<Word> words;
  FoldedMap<Program> programs;  // executables
  FoldedMap<char> ignore, before, after;
  FoldedMap<std::string_view> unknown;  // name -> kind
  FoldedMap<std::vector<std::uint32_t>> renames;
  std::vector<std::uint32_t> rename_starts;  // those with '*', longest first
  // In small letters and sorted, for names that were cut: which of them begin so?
  std::vector<std::pair<std::string, std::string_view>> sorted_ignore, sorted_unknown;
  bool takes_value[256] = {};  // sbatch's options of one letter

  void build();
  Label label(const JobNames& names) const;

 private:
  bool begins_word(std::string_view text, std::size_t at, std::size_t length) const;
  bool ends_word(std::string_view text, std::size_t at, std::size_t length, bool cut) const;
  bool glued(const FoldedMap<char>& list, std::string_view letters) const {
    return !letters.empty() && letters.size() <= 12 && list.find(letters) != list.end();
  }
  bool ignored(std::string_view name) const;
  bool search_name(std::string_view text, std::string_view how, bool program, std::string_view user,
                   Label& found, Label& wrapper, std::size_t& best, std::size_t& best_wrapper) const;
  bool search_program(std::string_view name, std::string_view how, bool exact, Label& found,
                      Label& wrapper) const;
  bool search_path(std::string_view path, std::string_view how, std::string_view user, Label& found,
                   Label& wrapper) const;
  bool search_steps(const JobNames& names, Label& found, Label& wrapper) const;
  bool search_submit_line(const JobNames& names, Label& found, Label& wrapper) const;
  bool search_renames(const JobNames& names, Label& found) const;
  bool rename_of(std::string_view name, const JobNames& names, Label& found) const;
  std::string_view kind_of_name(std::string_view name, std::string_view user) const;
  std::string_view kind_of(const JobNames& names) const;

  void give(Label& to, std::uint32_t application, std::string_view how, std::string_view evidence,
            std::string_view version) const {
    to.application = lists.applications[application].name;
    to.field = lists.applications[application].field;
    to.labelled_by = how;
    to.evidence = evidence;
    to.version = version;
  }
};

void Labeller::Impl::build() {
  std::vector<std::string> texts;
  for (std::uint32_t a = 0; a < lists.applications.size(); ++a) {
    for (const Keyword& k : lists.applications[a].keywords) {
      if (k.match == Match::executable) {
        programs.emplace(k.text, Program{a, k.version});
        continue;
      }
      texts.push_back(normal_form(k.text));
      words.push_back({a, k.match, false, static_cast<std::uint32_t>(k.text.size()), k.version});
    }
    for (const std::string& w : lists.applications[a].not_words) {
      texts.push_back(normal_form(w));
      words.push_back({a, Match::word, true, static_cast<std::uint32_t>(w.size()), {}});
    }
  }
  matcher.build(texts);
  for (const std::string& n : lists.ignore) ignore.emplace(n, 1);
  for (const std::string& n : lists.before) before.emplace(n, 1);
  for (const std::string& n : lists.after) after.emplace(n, 1);
  for (const auto& [name, kind] : lists.unknown) unknown.emplace(name, kind);
  for (const auto& [name, kind] : lists.unknown) sorted_unknown.emplace_back(in_small_letters(name), kind);
  for (const std::string& n : lists.ignore)
    sorted_ignore.emplace_back(in_small_letters(n), std::string_view());
  std::sort(sorted_unknown.begin(), sorted_unknown.end());
  std::sort(sorted_ignore.begin(), sorted_ignore.end());
  for (const CommandOption& o : sbatch_option_table())
    if (o.letter != 0) takes_value[static_cast<unsigned char>(o.letter)] = o.value == OptionValue::required;
  for (std::uint32_t i = 0; i < lists.renames.size(); ++i) {
    if (lists.renames[i].name.ends_with('*'))
      rename_starts.push_back(i);
    else
      renames[lists.renames[i].name].push_back(i);
  }
  std::stable_sort(rename_starts.begin(), rename_starts.end(), [&](std::uint32_t a, std::uint32_t b) {
    return lists.renames[a].name.size() > lists.renames[b].name.size();
  });
}

// "run-vasp", "2vasp", "runVasp", "GPUVasp" and, by the list of glue, "runvasp".
bool Labeller::Impl::begins_word(std::string_view text, std::size_t at, std::size_t length) const {
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
  return glued(before, text.substr(from, at - from));
}

bool Labeller::Impl::ends_word(std::string_view text, std::size_t at, std::size_t length, bool cut) const {
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
  if (is_digit(last)) return length >= kShort || glued(after, text.substr(at, to - at));
  if (length < kShort) return false;
  if (lower(last) && upper(first)) return true;
  if (upper(last) && lower(first) && at >= 2 && upper(text[at - 2])) return true;
  return glued(after, text.substr(at, to - at));
}

bool Labeller::Impl::ignored(std::string_view name) const {
  if (name.empty()) return true;
  if (ignore.find(name) != ignore.end()) return true;
  return is_cut(name) && begun_by(sorted_ignore, name) != nullptr;
}

// Keywords in one name; the longest, the first of equals.  True when `found` was bettered.
bool Labeller::Impl::search_name(std::string_view text, std::string_view how, bool program,
                                 std::string_view user, Label& found, Label& wrapper, std::size_t& best,
                                 std::size_t& best_wrapper) const {
  text = text.substr(0, kMostBytes);
  const bool cut = is_cut(text);
  Hit hits[kMostHits];
  int count = 0;
  bool negative = false;
  matcher.scan(text, [&](std::uint32_t index, std::size_t begin, std::size_t end) {
    if (count == kMostHits) return;
    const Word& w = words[index];
    if (w.match == Match::word &&
        (!begins_word(text, begin, w.length) || !ends_word(text, end, w.length, cut)))
      return;
    if (w.match == Match::whole) {
      // A cut name may have gone on, so that it is not whole.
      const std::string_view stem = stem_of(text, user), bare = without_extension(base_name(text));
      const char* b = text.data() + begin;
      if (cut || b != stem.data() || (w.length != stem.size() && w.length != bare.size())) return;
    }
    negative = negative || w.negative;
    hits[count++] = {&w, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  });
  bool better = false;
  for (int i = 0; i < count; ++i) {
    const Word& w = *hits[i].word;
    if (w.negative) continue;
    const auto& application = lists.applications[w.application];
    std::size_t& most = application.wrapper ? best_wrapper : best;
    if (w.length <= most) continue;
    if (negative && std::any_of(hits, hits + count, [&](const Hit& other) {
          return other.word->negative && other.word->application == w.application;
        }))
      continue;
    std::string_view version = w.version;
    for (int j = 0; version.empty() && j < count; ++j) {
      // "/opt/vasp/5.4.4/bin/vasp_std": any word of the application may be followed by the version.
      const Hit& other = hits[(i + j) % count];
      if (other.word->application == w.application && !other.word->negative)
        version =
            other.word->version.empty() ? version_in(text.substr(other.end), program) : other.word->version;
    }
    most = w.length;
    give(application.wrapper ? wrapper : found, w.application, how,
         text.substr(hits[i].begin, hits[i].end - hits[i].begin), version);
    better = better || !application.wrapper;
  }
  return better;
}

// The whole name of a program: as listed, then (unless `exact`) without version and the like.
bool Labeller::Impl::search_program(std::string_view name, std::string_view how, bool exact, Label& found,
                                    Label& wrapper) const {
  const std::string_view base = base_name(name);
  auto at = programs.find(base);
  std::string_view evidence = base;
  if (at == programs.end()) {
    if (exact) return false;
    evidence = stem_of(base, {});
    if (evidence.size() == base.size()) return false;
    at = programs.find(evidence);
    if (at == programs.end()) return false;
  }
  const bool wraps = lists.applications[at->second.application].wrapper;
  if (wraps && !wrapper.labelled_by.empty()) return false;
  give(wraps ? wrapper : found, at->second.application, how, evidence,
       at->second.version.empty() ? version_in(base.substr(evidence.size()), true) : at->second.version);
  return !wraps;
}

bool Labeller::Impl::search_steps(const JobNames& names, Label& found, Label& wrapper) const {
  // An executable that is listed beats a keyword, whichever step has it.
  std::size_t best = 0, best_wrapper = wrapper.labelled_by.empty() ? 0 : kMostBytes;
  for (const bool whole : {true, false}) {
    std::string_view rest = names.step_names.substr(0, kMostBytes);
    while (!rest.empty()) {
      const auto blank = rest.find(' ');
      const std::string_view name = rest.substr(0, blank);
      rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
      if (name.empty() || ignored(name)) continue;
      if (whole && search_program(name, "step", false, found, wrapper)) return true;
      if (!whole) search_name(name, "step", true, names.user, found, wrapper, best, best_wrapper);
    }
  }
  return best > 0;
}

// The folders of a path, the deepest first.  Homes say who, not what: the folder behind "home" and the one
// named as the user are passed by.
bool Labeller::Impl::search_path(std::string_view path, std::string_view how, std::string_view user,
                                 Label& found, Label& wrapper) const {
  path = path.substr(0, kMostBytes);
  const std::size_t begin = path.starts_with('/') ? 1 : 0;
  std::size_t home_end = 0;
  const auto first_end = path.find('/', begin);
  if (begin == 1 && first_end != std::string_view::npos) {
    const std::string_view first = path.substr(1, first_end - 1);
    for (const std::string_view homes : {"home", "homes", "users", "user", "u"})
      if (equal_ignoring_case(first, homes)) home_end = std::min(path.find('/', first_end + 1), path.size());
  }
  std::size_t best_wrapper = wrapper.labelled_by.empty() ? 0 : kMostBytes;
  for (std::size_t end = path.size(); end > home_end;) {
    const auto slash = path.rfind('/', end - 1);
    const std::size_t from = slash == std::string_view::npos ? 0 : slash + 1;
    const std::string_view folder = path.substr(from, end - from);
    std::size_t best = 0;
    if (!folder.empty() && folder != user &&
        search_name(folder, how, false, user, found, wrapper, best, best_wrapper)) {
      if (found.version.empty() && end < path.size()) found.version = version_in(path.substr(end), false);
      if (found.version.empty() && from > home_end + 1) {  // "/opt/vasp/6.4.1/bin/vasp_std"
        Label above, other;
        if (search_path(path.substr(0, from - 1), how, user, above, other) &&
            above.application == found.application)
          found.version = above.version;
      }
      return true;
    }
    if (slash == std::string_view::npos || slash == 0) break;
    end = slash;
  }
  return false;
}

// The words that name scripts and programs; what an option holds (an account, a partition) is no evidence.
bool Labeller::Impl::search_submit_line(const JobNames& names, Label& found, Label& wrapper) const {
  std::string_view rest = names.submit_line.substr(0, kMostBytes);
  bool first = true, options = true, skip = false;
  while (!rest.empty()) {
    const char open = rest[0];
    if (open == ' ' || open == '"' || open == '\'' || open == ';' || open == '&' || open == '|') {
      rest.remove_prefix(1);
      continue;
    }
    std::size_t end = 0;
    while (end < rest.size() && rest[end] != ' ' && rest[end] != '"' && rest[end] != '\'' && rest[end] != ';')
      ++end;
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end);
    if (first) {  // sbatch, srun, salloc
      first = false;
      continue;
    }
    if (skip) {
      skip = false;
      continue;
    }
    if (options && word.starts_with("--wrap")) {
      if (!word.starts_with("--wrap=")) continue;
      word.remove_prefix(7);
      options = false;
      if (word.empty()) continue;
    } else if (options && word.size() > 1 && word[0] == '-') {
      if (word.starts_with("--") && word.find('=') == std::string_view::npos) {
        const CommandOption* option = find_sbatch_option(word.substr(2));
        skip = option != nullptr && option->value == OptionValue::required;
      } else if (word[1] != '-' && word.size() == 2) {
        skip = takes_value[static_cast<unsigned char>(word[1])];
      }
      continue;
    }
    options = options && (word == "srun" || word == "mpirun" || word == "mpiexec");
    if (word[0] == '-') continue;
    if (ignored(base_name(word))) continue;
    if (search_program(word, "submit_line", false, found, wrapper)) {
      Label by_path, other;
      if (found.version.empty() && search_path(word, "submit_line", names.user, by_path, other) &&
          by_path.application == found.application)
        found.version = by_path.version;
      return true;
    }
    if (search_path(word, "submit_line", names.user, found, wrapper)) return true;
  }
  return false;
}

bool Labeller::Impl::rename_of(std::string_view name, const JobNames& names, Label& found) const {
  const auto applies = [&](const Rename& r) {
    return (r.cluster.empty() || r.cluster == names.cluster) && (r.user.empty() || r.user == names.user);
  };
  const auto take = [&](const Rename& r) {
    found.application = r.application;
    found.field = r.field;
    found.labelled_by = "rename";
    found.evidence = r.name;
    const std::string_view stem = stem_of(name, names.user);
    found.version =
        version_in(name.substr(static_cast<std::size_t>(stem.data() - name.data()) + stem.size()), false);
    return true;
  };
  for (const std::string_view form : {name, without_extension(base_name(name)), stem_of(name, names.user)})
    if (const auto at = renames.find(form); at != renames.end())
      for (const std::uint32_t i : at->second)
        if (applies(lists.renames[i])) return take(lists.renames[i]);
  for (const std::uint32_t i : rename_starts) {
    const Rename& r = lists.renames[i];
    const std::size_t n = r.name.size() - 1;
    if (name.size() >= n && applies(r) &&
        equal_ignoring_case(name.substr(0, n), std::string_view(r.name).substr(0, n)))
      return take(r);
  }
  return false;
}

bool Labeller::Impl::search_renames(const JobNames& names, Label& found) const {
  if (lists.renames.empty()) return false;
  if (!names.job_name.empty() && rename_of(names.job_name, names, found)) return true;
  std::string_view rest = names.step_names.substr(0, kMostBytes);
  while (!rest.empty()) {
    const auto blank = rest.find(' ');
    const std::string_view name = rest.substr(0, blank);
    rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
    if (!name.empty() && !ignored(name) && rename_of(name, names, found)) return true;
  }
  return false;
}

std::string_view Labeller::Impl::kind_of_name(std::string_view name, std::string_view user) const {
  for (const std::string_view form :
       {name, base_name(name), without_extension(base_name(name)), stem_of(name, user)})
    if (const auto at = unknown.find(form); at != unknown.end()) return at->second;
  if (is_cut(name))  // "XXXJOBNAM+" is the start of one
    if (const auto* whole = begun_by(sorted_unknown, name)) return whole->second;
  return "other";
}

// Steps know better than the job's name: "mycode" with the step "a.out" says no more than a.out does, and
// "test" with the step "mycode" is somebody's code.
std::string_view Labeller::Impl::kind_of(const JobNames& names) const {
  std::string_view kind, rest = names.step_names.substr(0, kMostBytes);
  while (!rest.empty()) {
    const auto blank = rest.find(' ');
    const std::string_view name = rest.substr(0, blank);
    rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
    if (name.empty() || ignored(name)) continue;
    const std::string_view one = kind_of_name(name, names.user);
    if (one == "other") return one;
    if (kind != "interpreter") kind = one;
  }
  // The same name as the script's tells nothing new.
  if (!kind.empty()) return kind;
  if (ignored(names.job_name)) return "default_name";
  return kind_of_name(names.job_name, names.user);
}

Label Labeller::Impl::label(const JobNames& names) const {
  Label found, wrapper;
  if (!names.step_names.empty() && search_steps(names, found, wrapper)) return found;
  if (!names.job_name.empty() && !ignored(names.job_name)) {
    std::size_t best = 0, best_wrapper = wrapper.labelled_by.empty() ? 0 : kMostBytes;
    if (search_name(names.job_name, "keyword", false, names.user, found, wrapper, best, best_wrapper))
      return found;
    // srun names a job without a script after its program.  Plain words are names of much else.
    if (names.job_name.find_first_of("._-0123456789") != std::string_view::npos &&
        search_program(names.job_name, "keyword", true, found, wrapper))
      return found;
  }
  if (!names.submit_line.empty() && search_submit_line(names, found, wrapper)) return found;
  if (!names.work_dir.empty() && search_path(names.work_dir, "work_dir", names.user, found, wrapper))
    return found;
  if (search_renames(names, found)) return found;
  if (!wrapper.labelled_by.empty()) return wrapper;
  Label none;
  none.labelled_by = kind_of(names);
  return none;
}

Labeller::Labeller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Labeller::Labeller(Labeller&&) noexcept = default;
Labeller& Labeller::operator=(Labeller&&) noexcept = default;
Labeller::~Labeller() = default;

Result<Labeller> Labeller::make(std::span<const LabelFile> files) {
  auto lists = parse_lists(files);
  if (!lists) return fail(lists.error());
  auto impl = std::make_unique<Impl>();
  impl->lists = std::move(*lists);
  impl->build();
  return Labeller(std::move(impl));
}

Label Labeller::label(const JobNames& names) const { return impl_->label(names); }
std::size_t Labeller::applications() const { return impl_->lists.applications.size(); }

}  // namespace sickbay::workload
