// SPDX-License-Identifier: Apache-2.0
// What to add to the lists: the names that no application has, in groups of like names, those first that hold
// the most; each with a keyword or renames that a person may accept.
//
// A group is of names, but its keyword may stand in many more of them, or in fewer; so a person hears what
// accepting will do, by doing it (Accepting).
//
// Pure.  A group is made of names that begin with the same word, or nearly the same for one user; names that
// say nothing ("main3d", "python") are grouped by their folder's name instead.
#pragma once
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "workload/label/label.h"

namespace sickbay::workload {

/// Jobs that have all their names in common.
struct NamedJobs {
  std::string job_name, step_names, user, work_dir, submit_line, cluster, comment, account;
  std::uint64_t jobs = 0;
  double weight = 0;  ///< core-hours, or what stands for them
};

struct Suggestion {
  std::string word;                ///< the group's
  std::string keyword;             ///< proposed; empty: renames are
  std::vector<std::string> names;  ///< proposed renames: whole names, or starts with '*'
  std::string user;                ///< whom the renames are for; empty: anyone
  std::vector<std::string> examples;
  std::uint64_t jobs = 0, users = 0;
  double weight = 0;
  std::string by;  ///< what the group has in common: "program", "job name", "folder"
};

struct Suggestions {
  std::vector<Suggestion> groups;  ///< by weight, the heaviest first
  std::uint64_t jobs = 0;          ///< of all that were looked at
  std::uint64_t unlabelled = 0;    ///< of them that no list labels
  std::uint64_t nameless = 0;      ///< of these, those whose names and folder all say nothing: in no group
  double weight = 0, unlabelled_weight = 0, nameless_weight = 0;
};

/// At most `most` groups.  Jobs that `labeller` labels only count.
Suggestions suggest(const Labeller& labeller, std::span<const NamedJobs> jobs, std::size_t most);

/// A list file (doc/formats/labels.md) of accepted suggestions; `application` empty: the group's word.
struct Accepted {
  const Suggestion* suggestion = nullptr;
  std::string application, field;
};
Json overlay_of(std::span<const Accepted> accepted);

/// What accepting does to the jobs that it sees: all lists and the accepted ones against all lists.
class Accepting {
 public:
  struct Effect {
    std::uint64_t jobs = 0, users = 0;  ///< that have no label, and get one
    double weight = 0;
    std::uint64_t moved = 0;  ///< jobs that have a label, and get another
  };

  /// `labeller` must outlive it.  Errors: as of Labeller::make.
  static Result<Accepting> make(const Labeller& labeller, std::span<const Accepted> accepted);
  void see(const NamedJobs& jobs);
  Effect effect() const;

 private:
  Accepting(const Labeller& before, Labeller after, Labeller touched)
      : before_(&before), after_(std::move(after)), touched_(std::move(touched)) {}
  const Labeller* before_;
  Labeller after_;
  Labeller touched_;  ///< labels what the accepted ones have a word for: most jobs need no second look
  Effect effect_;
  std::set<std::string> users_;
};

}  // namespace sickbay::workload
