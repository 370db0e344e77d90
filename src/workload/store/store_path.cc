// SPDX-License-Identifier: Apache-2.0
#include "workload/store/store_path.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/text.h"

namespace sickbay::workload {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

constexpr const char* kBelowHome = "/.local/share/sickbay";

}  // namespace

Result<std::string> store_path(const std::string& given) {
  if (!given.empty()) return given;
  if (std::string path = environment("SICKBAY_STORE"); !path.empty()) return path;
  const std::string home = environment("HOME");
  if (home.empty())
    return fail(Error(ErrorCode::usage, "it is not said which store is meant")
                    .because("neither HOME nor SICKBAY_STORE is set")
                    .remedied_by("name it with --store FILE"));
  return home + kBelowHome + "/jobs.duckdb";
}

Result<std::string> store_path_to_make(const std::string& given) {
  auto path = store_path(given);
  if (!path || !given.empty() || !environment("SICKBAY_STORE").empty()) return path;
  const std::string home = environment("HOME");
  // Who runs which jobs is not for all users of a login node.
  for (const char* folder : {"/.local", "/.local/share", kBelowHome}) {
    const std::string made = home + folder;
    if (::mkdir(made.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const int why = errno;
    const ErrorCode code = why == EACCES || why == EPERM || why == EROFS ? ErrorCode::denied
                           : why == ENOSPC || why == EDQUOT              ? ErrorCode::storage_full
                                                                         : ErrorCode::storage_broken;
    return fail(
        Error(code, fmt::format("cannot make the folder {} for the store", quote_for_message(made, 4096)))
            .because(std::strerror(why))
            .remedied_by("name another place with --store FILE or SICKBAY_STORE"));
  }
  return path;
}

}  // namespace sickbay::workload
