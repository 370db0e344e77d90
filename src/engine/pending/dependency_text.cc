// SPDX-License-Identifier: Apache-2.0
#include "engine/pending/dependency_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sickbay::pending {
namespace {

// Types of sbatch's --dependency; {} is the job.
struct TypeRow {
  std::string_view type, words;
};
constexpr auto kTypes = std::to_array<TypeRow>({
    {"after", "job {} has started or was cancelled"},
    {"afterany", "job {} has ended"},
    {"afterok", "job {} has ended without an error"},
    {"afternotok", "job {} has failed"},
    {"aftercorr", "the same task of job array {} has ended without an error"},
    {"afterburstbuffer", "job {} has ended and its burst buffer is written back"},
    {"expand", "job {} takes over its nodes"},
});

std::string one_text(std::string_view item) {
  const std::string_view bare = item.substr(0, item.find('('));
  if (bare == "singleton") return "no other job of its name and user runs or waits before it";
  const std::size_t colon = bare.find(':');
  // A type of a newer Slurm is shown as it is.
  if (colon == bare.npos) return std::string(item);
  for (const TypeRow& row : kTypes)
    if (row.type == bare.substr(0, colon))
      return fmt::format(fmt::runtime(row.words), bare.substr(colon + 1));
  return std::string(item);
}

}  // namespace

std::string dependency_text(std::string_view dependency) {
  std::string text;
  for (std::string_view rest = dependency; !rest.empty();) {
    // Slurm joins by ',' (all must hold) or by '?' (one is enough); a job has only one of the two.
    const std::size_t end = rest.find_first_of(",?");
    const std::string_view item = rest.substr(0, end);
    const bool any = end != rest.npos && rest[end] == '?';
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    // What has come true keeps the job no longer.
    if (item.empty() || item.ends_with("(fulfilled)")) continue;
    text += one_text(item);
    if (!rest.empty()) text += any ? " or " : " and ";
  }
  // (The last one may have been left out.)
  for (const std::string_view joint : {" or ", " and "})
    if (text.ends_with(joint)) text.resize(text.size() - joint.size());
  return text;
}

}  // namespace sickbay::pending
