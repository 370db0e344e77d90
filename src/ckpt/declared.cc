// SPDX-License-Identifier: Apache-2.0
#include "ckpt/declared.h"

#include <fmt/format.h>
#include <glob.h>

#include <filesystem>
#include <map>

#include "base/fnv.h"
#include "base/mount_table.h"
#include "base/text.h"

namespace sickbay::ckpt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAsideEnd = ".sickbay-restoring";  // of a restore that was cut off
constexpr std::size_t kMostFiles = 10'000'000;

// The characters that glob(3) reads as more than themselves.
std::string literal(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

Result<std::vector<std::string>> matches(const std::string& pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + (code == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  if (code != 0 && code != GLOB_NOMATCH)
    return fail(ErrorCode::storage_broken, fmt::format("cannot look for {}", quote_for_message(pattern)));
  return paths;
}

}  // namespace

Result<std::vector<checkpoint::Source>> declared_files(const std::string& folder,
                                                       const std::vector<std::string>& patterns,
                                                       const Participant& me, bool all_own,
                                                       const std::string& but) {
  const auto is_left_out = [&](const std::string& path) { return !but.empty() && lies_below(path, but); };
  std::map<std::string, std::string> files;  ///< path by name; of this process
  std::size_t seen = 0;
  for (const std::string& declared : patterns) {
    auto pattern = fill_in(declared, me);
    if (!pattern) return tl::unexpected<Error>(std::move(pattern.error()));
    // An absolute pattern is taken where it leads into the folder; names in a checkpoint are relative to
    // that.
    if (lies_below(*pattern, folder + "/")) pattern->erase(0, folder.size() + 1);
    if (!checkpoint::is_relative_path(*pattern))
      return fail(
          Error(ErrorCode::usage, fmt::format("{} leads out of {}", quote_for_message(declared), folder))
              .remedied_by("name files below the folder; --folder is another one"));
    const bool own = all_own || me.ranks == 1 || differs_by_process(declared);
    const auto take = [&](const std::string& path) {
      if (path.ends_with(kAsideEnd) || is_left_out(path)) return;
      ++seen;
      std::string name = path.substr(folder.size() + 1);
      // By the name's hash: every process finds the same owner without asking the others.
      if (own || fnv64(name) % static_cast<std::uint64_t>(me.ranks) == static_cast<std::uint64_t>(me.rank))
        files.emplace(std::move(name), path);
    };
    auto found = matches(literal(folder) + "/" + *pattern);
    if (!found) return tl::unexpected<Error>(std::move(found.error()));
    for (const std::string& path : *found) {
      std::error_code wrong;
      if (!fs::is_directory(path, wrong)) {
        take(path);
        continue;
      }
      auto entry = fs::recursive_directory_iterator(path, wrong);
      for (; !wrong && entry != fs::recursive_directory_iterator(); entry.increment(wrong)) {
        // (The store itself may lie in the folder: a checkpoint of checkpoints would double each time.)
        if (is_left_out(entry->path().string())) entry.disable_recursion_pending();
        std::error_code unknown;
        if (entry->is_regular_file(unknown)) take(entry->path().string());
      }
      if (wrong)
        return fail(ErrorCode::storage_broken,
                    fmt::format("cannot look through {}: {}", quote_for_message(path), wrong.message()));
    }
    if (seen > kMostFiles)
      return fail(ErrorCode::bad_input, fmt::format("more than {} files are declared", kMostFiles));
  }
  // What another process saves counts here, too: one with no file of its own is well.
  if (seen == 0)
    return fail(Error(ErrorCode::not_found, fmt::format("no file in {} fits what was declared", folder))
                    .remedied_by("see --files and --folder, and whether the program has written its state"));
  std::vector<checkpoint::Source> sources;
  sources.reserve(files.size());
  for (auto& [name, path] : files) sources.push_back({name, path});
  return sources;
}

}  // namespace sickbay::ckpt
