// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/rules/rule_files.h"

#include <algorithm>
#include <filesystem>

#include "adapters/posix/files.h"
#include "adapters/posix/installed_file.h"
#include "apps/cli/answer.h"
#include "service/agent/components.h"
#include "settings/paths.h"

namespace sickbay::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTest = ".test.json", kSchema = "specification.schema.json";

bool is_test(const fs::path& path) { return path.filename().string().ends_with(kTest); }
bool is_specification(const fs::path& path) {
  return path.extension() == ".json" && !is_test(path) && path.filename() != kSchema;
}

// The places that were named; else the shipped folder and the site's, where they are.
Result<std::vector<std::string>> places_or_default(const std::vector<std::string>& named) {
  if (!named.empty()) return named;
  const std::string shipped = installed_file("rules");
  if (shipped.empty())
    return fail(
        Error(ErrorCode::not_found, "the shipped rules are not where they belong")
            .remedied_by("they are in share/sickbay/rules beside the bin folder; install Sickbay anew"));
  std::vector<std::string> folders = {shipped};
  std::error_code ignored;
  if (const std::string site = rooted("/etc/sickbay/rules.d"); fs::is_directory(site, ignored))
    folders.push_back(site);
  return folders;
}

// What is in the folder, sorted by name, so that it is the same everywhere.
template <class Iterator, class Wanted>
Status list_folder(const std::string& folder, Wanted wanted, std::vector<std::string>& paths) {
  std::vector<std::string> found;
  std::error_code error;
  for (Iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (wanted(at->path())) found.push_back(at->path().string());
  if (error) return fail(about_path(file_error(error.value(), "read the folder", folder)));
  std::ranges::sort(found);
  paths.insert(paths.end(), found.begin(), found.end());
  return {};
}

}  // namespace

Result<diagnose::SpecificationFile> read_rule_file(const std::string& path) {
  auto text = read_file(path, diagnose::kMostSpecificationBytes);
  if (!text) return fail(about_path(std::move(text.error())));
  return diagnose::SpecificationFile{path, std::move(*text)};
}

Result<std::vector<std::string>> components_here() {
  const std::string folder = Paths::from_environment().components();
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return std::vector<std::string>{};
  const auto files = rule_files({folder});
  if (!files) return fail(files.error());
  const auto components = agent::read_components(*files);
  if (!components) return fail(components.error());
  std::vector<std::string> names;
  for (const agent::ComponentSpec& one : *components) names.push_back(one.name);
  return names;
}

Result<std::vector<diagnose::SpecificationFile>> rule_files(const std::vector<std::string>& named) {
  const auto places = places_or_default(named);
  if (!places) return fail(places.error());
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const std::string& place : *places) {
    if (!fs::is_directory(place, ignored))
      paths.push_back(place);
    else if (auto listed = list_folder<fs::directory_iterator>(place, is_specification, paths); !listed)
      return fail(listed.error());
  }
  std::vector<diagnose::SpecificationFile> files;
  for (const std::string& path : paths) {
    auto file = read_rule_file(path);
    if (!file) return fail(file.error());
    files.push_back(std::move(*file));
  }
  return files;
}

Result<std::vector<std::string>> rule_test_files(const std::vector<std::string>& named) {
  const auto places = places_or_default(named);
  if (!places) return fail(places.error());
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const std::string& place : *places) {
    if (fs::is_directory(place, ignored)) {
      if (auto listed = list_folder<fs::recursive_directory_iterator>(place, is_test, paths); !listed)
        return fail(listed.error());
    } else if (is_test(place)) {
      paths.push_back(place);
    } else {
      const std::string beside = fs::path(place).replace_extension().string() + std::string(kTest);
      if (!fs::exists(beside, ignored))
        return fail(Error(ErrorCode::not_found, place + " has no tests")
                        .remedied_by("write them to " + beside + "; doc/formats/specification.md says how"));
      paths.push_back(beside);
    }
  }
  return paths;
}

}  // namespace sickbay::cli
