// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/label_files.h"

#include <algorithm>
#include <filesystem>

#include "adapters/posix/files.h"
#include "adapters/posix/installed_file.h"
#include "apps/cli/answer.h"

namespace sickbay::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

Status add_file(const std::string& path, std::vector<workload::LabelFile>& files) {
  auto text = read_file(path, kMostBytes);
  if (!text) return fail(about_path(std::move(text.error())));
  files.push_back({path, std::move(*text)});
  return {};
}

// Every *.json in a folder and those below, by name, so that the result is the same everywhere.
Status add_folder(const std::string& folder, std::vector<workload::LabelFile>& files) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".json") paths.push_back(at->path().string());
  if (error)
    return fail(ErrorCode::denied, "cannot read the folder of labels " + folder + ": " + error.message());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths)
    if (auto added = add_file(path, files); !added) return added;
  return {};
}

}  // namespace

Result<std::vector<workload::LabelFile>> label_files(const std::vector<std::string>& named) {
  std::vector<workload::LabelFile> files;
  std::vector<std::string> places;
  const std::string shipped = installed_file("labels");
  if (shipped.empty())  // going on without them would call every job unknown
    return fail(
        Error(ErrorCode::not_found, "the shipped lists of labels are not where they belong")
            .remedied_by("they are in share/sickbay/labels beside the bin folder; install Sickbay anew"));
  places.push_back(shipped);
  std::error_code ignored;
  if (const std::string site = rooted("/etc/sickbay/labels.d"); std::filesystem::is_directory(site, ignored))
    places.push_back(site);
  places.insert(places.end(), named.begin(), named.end());
  for (const std::string& place : places) {
    auto added =
        std::filesystem::is_directory(place, ignored) ? add_folder(place, files) : add_file(place, files);
    if (!added) return fail(std::move(added.error()));
  }
  return files;
}

}  // namespace sickbay::cli
