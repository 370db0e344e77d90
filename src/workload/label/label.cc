// SPDX-License-Identifier: Apache-2.0
// Hot: called once for each job of an import, from several threads.  Nothing is allocated; a name's bytes are
// read once by the matcher, and the few hits are judged by what stands around them.
#include "workload/label/label.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "model/sbatch_options.h"
#include "workload/label/lists.h"
#include "workload/label/name.h"
#include "workload/label/words.h"

namespace sickbay::workload {
namespace {

constexpr std::size_t kMostBytes = 4096;  // of one text; what is behind says nothing new

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

}  // namespace

struct Labeller::Impl {
  Lists lists;
  Words words;
  FoldedMap<Program> programs;  // executables
  FoldedMap<char> ignore;
  FoldedMap<std::string_view> unknown;  // name -> kind
  FoldedMap<std::vector<std::uint32_t>> renames;
  std::vector<std::uint32_t> rename_starts;  // those with '*', longest first
  // In small letters and sorted, for names that were cut: which of them begin so?
  std::vector<std::pair<std::string, std::string_view>> sorted_ignore, sorted_unknown;
  bool takes_value[256] = {};  // sbatch's options of one letter

  void build();
  Label label(const JobNames& names) const;

 private:
  bool ignored(std::string_view name) const;
  bool sure(const Hit& hit, const Hits& hits, std::string_view text, const JobNames& names) const;
  bool search_name(std::string_view text, std::string_view how, bool program, const JobNames& names,
                   Label& found, Label& wrapper, std::size_t& best, std::size_t& best_wrapper) const;
  bool search_program(std::string_view name, std::string_view how, bool exact, Label& found,
                      Label& wrapper) const;
  bool search_path(std::string_view path, std::string_view how, const JobNames& names, Label& found,
                   Label& wrapper) const;
  bool search_steps(const JobNames& names, Label& found, Label& wrapper) const;
  bool search_submit_line(const JobNames& names, Label& found, Label& wrapper) const;
  bool search_comment(const JobNames& names, Label& found, Label& wrapper) const;
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
  words.build(lists);
  for (std::uint32_t a = 0; a < lists.applications.size(); ++a)
    for (const Keyword& k : lists.applications[a].keywords)
      if (k.match == Match::executable) programs.emplace(k.text, Program{a, k.version});
  for (const std::string& n : lists.ignore) ignore.emplace(n, 1);
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

bool Labeller::Impl::ignored(std::string_view name) const {
  if (name.empty()) return true;
  if (ignore.find(name) != ignore.end()) return true;
  return is_cut(name) && begun_by(sorted_ignore, name) != nullptr;
}

// What an ambiguous keyword needs: see Needs in lists.h.  The other texts of the job are read only for it.
bool Labeller::Impl::sure(const Hit& hit, const Hits& hits, std::string_view text,
                          const JobNames& names) const {
  if (hit.word->needs == Needs::nothing) return true;
  if (hit.word->needs == Needs::alone && words.alone(text, hit, names.user)) return true;
  if (words.has_sign(hits, hit, true)) return true;
  Hits elsewhere;
  for (std::string_view other :
       {names.job_name, names.step_names, names.submit_line, names.comment, names.work_dir, names.account}) {
    if (other.empty() || other.data() == text.data()) continue;
    words.find(other.substr(0, kMostBytes), names.user, elsewhere);
    if (words.has_sign(elsewhere, hit, false)) return true;
  }
  return false;
}

// Keywords in one name; the longest, the first of equals.  True when `found` was bettered.
bool Labeller::Impl::search_name(std::string_view text, std::string_view how, bool program,
                                 const JobNames& names, Label& found, Label& wrapper, std::size_t& best,
                                 std::size_t& best_wrapper) const {
  text = text.substr(0, kMostBytes);
  Hits hits;
  words.find(text, names.user, hits);
  bool better = false;
  for (int i = 0; i < hits.count; ++i) {
    const Hit& hit = hits.list[static_cast<std::size_t>(i)];
    const Word& w = *hit.word;
    if (w.role != Word::Role::keyword) continue;
    const auto& application = lists.applications[w.application];
    std::size_t& most = application.wrapper ? best_wrapper : best;
    if (w.length <= most || words.ruled_out(hits, hit) || !sure(hit, hits, text, names)) continue;
    std::string_view version = w.version;
    for (int j = 0; version.empty() && j < hits.count; ++j) {
      // "/opt/vasp/5.4.4/bin/vasp_std": any word of the application may be followed by the version.
      const Hit& other = hits.list[static_cast<std::size_t>((i + j) % hits.count)];
      if (other.word->application == w.application && other.word->role == Word::Role::keyword)
        version =
            other.word->version.empty() ? version_in(text.substr(other.end), program) : other.word->version;
    }
    most = w.length;
    give(application.wrapper ? wrapper : found, w.application, how,
         text.substr(hit.begin, hit.end - hit.begin), version);
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
      if (!whole) search_name(name, "step", true, names, found, wrapper, best, best_wrapper);
    }
  }
  return best > 0;
}

// The folders of a path, the deepest first.  Homes say who, not what: the folder behind "home" and the one
// named as the user are passed by.
bool Labeller::Impl::search_path(std::string_view path, std::string_view how, const JobNames& names,
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
    if (!folder.empty() && folder != names.user &&
        search_name(folder, how, false, names, found, wrapper, best, best_wrapper)) {
      if (found.version.empty() && end < path.size()) found.version = version_in(path.substr(end), false);
      if (found.version.empty() && from > home_end + 1) {  // "/opt/vasp/6.4.1/bin/vasp_std"
        Label above, other;
        if (search_path(path.substr(0, from - 1), how, names, above, other) &&
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
      if (found.version.empty() && search_path(word, "submit_line", names, by_path, other) &&
          by_path.application == found.application)
        found.version = by_path.version;
      return true;
    }
    if (search_path(word, "submit_line", names, found, wrapper)) return true;
  }
  return false;
}

// What people or their tools wrote beside the job, word by word.
bool Labeller::Impl::search_comment(const JobNames& names, Label& found, Label& wrapper) const {
  std::string_view rest = names.comment.substr(0, kMostBytes);
  while (!rest.empty()) {
    const auto end = rest.find_first_of(" ;,|\"'");
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (word.empty() || ignored(word)) continue;
    if (search_path(word, "comment", names, found, wrapper)) return true;
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
    if (search_name(names.job_name, "keyword", false, names, found, wrapper, best, best_wrapper))
      return found;
    // srun names a job without a script after its program.  Plain words are names of much else.
    if (names.job_name.find_first_of("._-0123456789") != std::string_view::npos &&
        search_program(names.job_name, "keyword", true, found, wrapper))
      return found;
  }
  if (!names.submit_line.empty() && search_submit_line(names, found, wrapper)) return found;
  if (!names.comment.empty() && search_comment(names, found, wrapper)) return found;
  if (!names.work_dir.empty() && search_path(names.work_dir, "work_dir", names, found, wrapper)) return found;
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

Result<Labeller> Labeller::with(const LabelFile& more, bool alone) const {
  auto impl = std::make_unique<Impl>();
  impl->lists = impl_->lists;
  if (alone) {
    impl->lists.applications.clear();
    impl->lists.renames.clear();
  }
  if (auto ok = lay_over(impl->lists, more); !ok) return fail(ok.error());
  impl->build();
  return Labeller(std::move(impl));
}

Label Labeller::label(const JobNames& names) const { return impl_->label(names); }
std::size_t Labeller::applications() const { return impl_->lists.applications.size(); }

}  // namespace sickbay::workload
