// SPDX-License-Identifier: Apache-2.0
#include "workload/label/suggest.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/spelling.h"
#include "base/text.h"
#include "workload/label/name.h"

namespace sickbay::workload {
namespace {

constexpr std::size_t kLetters = 4;        // of a keyword: shorter ones stand in too many names
constexpr std::size_t kExamples = 5;       // names shown of a group
constexpr std::size_t kRenames = 20;       // names proposed of a group
constexpr std::size_t kNearGroups = 2000;  // of which near ones are sought; the heaviest

std::string_view kind_of(const Labeller& labeller, std::string_view word) {
  return labeller.label({.job_name = word}).labelled_by;
}

JobNames names_of(const NamedJobs& j) {
  return {j.job_name, j.step_names, j.work_dir, j.submit_line, j.user, j.cluster, j.comment, j.account};
}

// The first word of a name that says something: three letters or more, and in no list of empty names.
std::string leading_word(const Labeller& labeller, std::string_view name) {
  std::string word;
  name = without_extension(base_name(name));
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && is_letter(name[i])) {
      word += to_lower(name[i]);
      continue;
    }
    if (word.size() >= 3 && kind_of(labeller, word) == "other") return word;
    word.clear();
  }
  return {};
}

// Which name of a job to group by, and what it is; nothing where no name says anything.
struct Subject {
  std::string name, by;
};

Subject subject_of(const Labeller& labeller, const NamedJobs& j) {
  std::string_view rest = j.step_names;
  while (!rest.empty()) {
    const auto blank = rest.find(' ');
    const std::string_view name = rest.substr(0, blank);
    rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
    // An ignored name reads as a default one when it is a job's.
    if (!name.empty() && kind_of(labeller, name) == "other") return {std::string(name), "program"};
  }
  if (kind_of(labeller, j.job_name) == "other") return {j.job_name, "job name"};
  std::string_view path = j.work_dir;
  while (!path.empty()) {
    const auto slash = path.rfind('/');
    const std::string_view folder = slash == std::string_view::npos ? path : path.substr(slash + 1);
    // The two upper folders are of the site and of the user.
    if (std::count(path.begin(), path.end(), '/') > 2 && folder != j.user &&
        !leading_word(labeller, folder).empty())
      return {std::string(folder), "folder"};
    if (slash == std::string_view::npos) break;
    path = path.substr(0, slash);
  }
  return {};
}

struct Group {
  std::string word, by;
  std::map<std::string, double> names;  // with their weight
  std::set<std::string> users;
  std::uint64_t jobs = 0;
  double weight = 0;

  void take(Group&& other) {
    for (const auto& [name, w] : other.names) names[name] += w;
    users.merge(other.users);
    jobs += other.jobs;
    weight += other.weight;
  }
};

// One user's spellings of a word: "pellet", "pelet", "pellets".
bool near(const Group& a, const Group& b) {
  return a.by == b.by && a.users.size() == 1 && a.users == b.users && a.word.size() > kLetters &&
         b.word.size() > kLetters && edit_distance(a.word, b.word, 1) <= 1;
}

// What renames reach: the name itself, or its start where it was cut or numbers follow.
std::string pattern_of(const std::string& name) {
  if (is_cut(name)) return name.substr(0, name.size() - 1) + "*";
  return name;
}

std::string common_start(const std::map<std::string, double>& names) {
  std::string start = names.begin()->first;
  for (const auto& [name, w] : names) {
    std::size_t n = 0;
    while (n < start.size() && n < name.size() && start[n] == name[n]) ++n;
    start.resize(n);
  }
  return start;
}

Suggestion suggestion_of(const Labeller& labeller, Group&& g) {
  Suggestion s;
  s.word = g.word;
  s.jobs = g.jobs;
  s.users = g.users.size();
  s.weight = g.weight;
  s.by = g.by;
  std::vector<std::pair<double, std::string>> heaviest;
  for (const auto& [name, w] : g.names) heaviest.emplace_back(-w, name);
  std::sort(heaviest.begin(), heaviest.end());
  for (std::size_t i = 0; i < heaviest.size() && i < kExamples; ++i) s.examples.push_back(heaviest[i].second);
  if (g.word.size() >= kLetters && kind_of(labeller, g.word) == "other") {
    s.keyword = g.word;
    return s;
  }
  if (g.users.size() == 1) s.user = *g.users.begin();
  const std::string start = common_start(g.names);
  if (g.names.size() > 1 && start.size() >= 3) {
    s.names.push_back(start + "*");
  } else {
    std::set<std::string> patterns;
    for (std::size_t i = 0; i < heaviest.size() && i < kRenames; ++i)
      patterns.insert(pattern_of(heaviest[i].second));
    s.names.assign(patterns.begin(), patterns.end());
  }
  return s;
}

}  // namespace

Suggestions suggest(const Labeller& labeller, std::span<const NamedJobs> jobs, std::size_t most) {
  Suggestions out;
  std::unordered_map<std::string, Group> by_key;
  for (const NamedJobs& j : jobs) {
    out.jobs += j.jobs;
    out.weight += j.weight;
    if (labeller.label(names_of(j)).application != "unknown") continue;
    out.unlabelled += j.jobs;
    out.unlabelled_weight += j.weight;
    Subject subject = subject_of(labeller, j);
    if (subject.name.empty()) {
      out.nameless += j.jobs;
      out.nameless_weight += j.weight;
      continue;
    }
    std::string word = leading_word(labeller, subject.name);
    // Without a word only one user's names belong together.
    std::string key = subject.by + '\n' + word;
    if (word.empty()) {
      word = std::string(stem_of(subject.name, j.user));
      key += '\n' + normal_form(word) + '\n' + j.user;
    }
    Group& g = by_key[key];
    g.word = word;
    g.by = subject.by;
    g.names[subject.name] += j.weight;
    if (!j.user.empty()) g.users.insert(j.user);
    g.jobs += j.jobs;
    g.weight += j.weight;
  }

  std::vector<Group> groups;
  for (auto& [key, g] : by_key) groups.push_back(std::move(g));
  const auto heavier = [](const Group& a, const Group& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.jobs != b.jobs ? a.jobs > b.jobs : a.word < b.word;
  };
  std::sort(groups.begin(), groups.end(), heavier);
  const std::size_t looked_at = std::min(groups.size(), kNearGroups);
  for (std::size_t a = 0; a < looked_at; ++a)
    for (std::size_t b = a + 1; b < looked_at && groups[a].jobs > 0; ++b)
      if (groups[b].jobs > 0 && near(groups[a], groups[b])) {
        groups[a].take(std::move(groups[b]));
        groups[b].jobs = 0;
      }
  std::erase_if(groups, [](const Group& g) { return g.jobs == 0; });
  std::sort(groups.begin(), groups.end(), heavier);
  for (std::size_t i = 0; i < groups.size() && i < most; ++i)
    out.groups.push_back(suggestion_of(labeller, std::move(groups[i])));
  return out;
}

Result<Accepting> Accepting::make(const Labeller& labeller, std::span<const Accepted> accepted) {
  const LabelFile overlay{"the accepted suggestions", overlay_of(accepted).dump()};
  auto after = labeller.with(overlay);
  if (!after) return fail(after.error());
  auto touched = labeller.with(overlay, true);
  if (!touched) return fail(touched.error());
  return Accepting(labeller, std::move(*after), std::move(*touched));
}

void Accepting::see(const NamedJobs& jobs) {
  const JobNames names = names_of(jobs);
  if (touched_.label(names).application == "unknown") return;
  const Label before = before_->label(names), after = after_.label(names);
  if (after.application == before.application) return;
  if (before.application != "unknown") {
    effect_.moved += jobs.jobs;
    return;
  }
  effect_.jobs += jobs.jobs;
  effect_.weight += jobs.weight;
  if (!jobs.user.empty()) users_.insert(jobs.user);
}

Accepting::Effect Accepting::effect() const {
  Effect effect = effect_;
  effect.users = users_.size();
  return effect;
}

Json overlay_of(std::span<const Accepted> accepted) {
  Json applications = Json::array(), renames = Json::array();
  for (const Accepted& a : accepted) {
    const std::string name = a.application.empty() ? a.suggestion->word : a.application;
    const std::string field = a.field.empty() ? "site" : a.field;
    if (!a.suggestion->keyword.empty())
      applications.push(Json::object(
          {{"name", name}, {"field", field}, {"keywords", Json::array({a.suggestion->keyword})}}));
    for (const std::string& pattern : a.suggestion->names) {
      Json rename = Json::object({{"name", pattern}, {"application", name}, {"field", field}});
      if (!a.suggestion->user.empty()) rename.set("user", a.suggestion->user);
      renames.push(std::move(rename));
    }
  }
  Json overlay = Json::object();
  if (applications.size() > 0) overlay.set("applications", std::move(applications));
  if (renames.size() > 0) overlay.set("renames", std::move(renames));
  return overlay;
}

}  // namespace sickbay::workload
