// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/installed_file.h"

#include <unistd.h>

#include <array>
#include <climits>

namespace sickbay {

std::string installed_file(const std::string& name) {
  std::array<char, PATH_MAX> path;
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size());
  if (n <= 0) return {};
  std::string folder(path.data(), static_cast<std::size_t>(n));
  folder.erase(folder.rfind('/'));
  for (const char* place : {"/", "/../libexec/sickbay/", "/../share/sickbay/"})
    if (std::string file = folder + place + name; ::access(file.c_str(), R_OK) == 0) return file;
  return {};
}

}  // namespace sickbay
