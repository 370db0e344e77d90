// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/inputs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "apps/folder/file_look.h"
#include "base/digest/sha256.h"
#include "base/text.h"
#include "model/script_words.h"

namespace sickbay::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostWords = 5000;  // each is one look at the file system
constexpr auto kSubmitters = std::to_array<std::string_view>({"sbatch", "mybatch"});

std::string digest_of(const Submission& submission) {
  Sha256 sum;
  const auto add = [&](std::string_view part) {
    sum.add(part);
    // A byte that no word holds parts them: "ab" "c" and "a" "bc" are different command lines.
    sum.add(std::string_view("\0", 1));
  };
  add(submission.script);
  for (const auto* words : {&submission.script_args, &submission.sbatch_options}) {
    for (const std::string& word : *words) add(word);
    // And an empty word parts the lists.
    add("");
  }
  return sum.hex();
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The folder that the job runs in, as each of `folders` leads there and as the kernel names it; the first is
// as it was given.
std::vector<std::string> job_folders(const SbatchLine& line, const Submission& submission,
                                     const std::vector<std::string>& folders) {
  std::string chdir;  // (sbatch has no variable for it)
  if (const auto in_script = parse_script_options(submission.script))
    for (const GivenOption& given : *in_script)
      if (given.name == "chdir") chdir = given.value.value_or("");
  if (const GivenOption* given = line.last("chdir")) chdir = given->value.value_or("");
  std::vector<std::string> names{submission.work_dir};
  names.insert(names.end(), folders.begin(), folders.end());
  if (chdir.empty()) return names;
  const auto plain = [](const fs::path& path) {
    std::string text = path.lexically_normal().string();
    if (text.size() > 1 && text.ends_with('/')) text.pop_back();
    return text;
  };
  for (std::string& name : names) name = plain(fs::path(name) / chdir);  // (an absolute one stays as it is)
  std::error_code none;
  if (const fs::path resolved = fs::canonical(names.front(), none); !none) names.push_back(resolved.string());
  return names;
}

class Search {
 public:
  explicit Search(std::string folder) : folder_(std::move(folder)) {}
  std::vector<InputFile> files;

  void look(const std::string& word) {
    if (word.empty() || word == "/" || words_++ >= kMostWords || files.size() >= kMostInputs) return;
    const std::string path = word.starts_with('/') ? word : folder_ + "/" + word;
    if (!seen_.insert(path).second) return;
    // Within what is left of the bound of all files: a longer one is noted with its size and time, without a
    // digest.
    auto file = look_at_file(path, std::min(kInputBytes, kAllInputBytes - read_));
    if (!file) return;  // most words are no files
    if (!file->digest.empty()) read_ += file->size;
    files.push_back(std::move(*file));
  }

 private:
  std::string folder_;
  std::set<std::string> seen_;
  std::size_t words_ = 0;
  std::uint64_t read_ = 0;
};

}  // namespace

Inputs find_inputs(const SbatchLine& line, const Submission& submission,
                   const std::vector<std::string>& folders) {
  Inputs found;
  found.script_digest = digest_of(submission);
  const std::vector<std::string> names = job_folders(line, submission, folders);
  // SLURM_SUBMIT_DIR of a copy is the copy of the job's folder, so that elsewhere it is not what it was.
  const bool elsewhere = names.front() != submission.work_dir;
  Search search(names.front());
  ShellNames shell(submission.environment, submission.owner.user);
  const auto names_folder = [&](std::string_view text) {
    const std::string expanded = shell.expand(text);
    // Careful where it is not known: it costs a question, and not a user's file (script_words.h).
    return shell.too_much() || writes_elsewhere(expanded) ||
           (elsewhere && text.find("SLURM_SUBMIT_DIR") != std::string_view::npos) ||
           std::ranges::any_of(names, [&](const std::string& folder) {
             return names_path(expanded, folder) || names_path(text, folder);
           });
  };
  const auto read = [&](std::string_view text) {
    found.names_folder = found.names_folder || names_folder(text);
    for (const std::string& word : words_of(text)) {
      found.submits_jobs =
          found.submits_jobs || std::ranges::find(kSubmitters, last_part(word)) != kSubmitters.end();
      search.look(word);
    }
  };
  std::string_view rest = submission.script;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string_view one = trimmed(rest.substr(0, end));
    if (!one.empty() && one[0] != '#') read(one);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string arguments;
  for (const std::string& argument : submission.script_args) arguments += argument + " ";
  read(arguments);
  for (const std::string& argument : submission.script_args) search.look(argument);  // whole, with its blanks
  if (const GivenOption* input = line.last("input")) search.look(input->value.value_or(""));
  found.files = std::move(search.files);
  return found;
}

}  // namespace sickbay::cli
