// SPDX-License-Identifier: Apache-2.0
// What to add to the lists: the names that no application has, in groups of like names, those first that hold
// the most; each with a keyword or renames that a person may accept.
//
// Pure.  A group is made of names that begin with the same word, or nearly the same for one user; names that
// say nothing ("main3d", "python") are grouped by their folder's name instead.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "workload/label/label.h"

namespace sickbay::workload {

/// Jobs that have all their names in common.
struct NamedJobs {
  std::string job_name, step_names, user, work_dir, submit_line, cluster;
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

}  // namespace sickbay::workload
