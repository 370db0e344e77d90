// SPDX-License-Identifier: Apache-2.0
#include "apps/folder/copy_mark.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "adapters/posix/files.h"

namespace sickbay {
namespace {

constexpr std::size_t kMarkBytes = 1 << 16;

std::string path_of(const std::string& folder) { return fmt::format("{}/{}", folder, kCopyMark); }

}  // namespace

Json read_mark(const std::string& folder) {
  const std::string path = path_of(folder);
  struct stat about = {};
  // (A pipe of that name would hold us.)
  if (::lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  const auto text = read_file(path, kMarkBytes);
  if (!text) return {};
  auto mark = Json::parse(*text);
  return mark && mark->is_object() ? std::move(*mark) : Json();
}

Status write_mark(const std::string& folder, const Json& mark) {
  return write_durably(path_of(folder), mark.dump() + "\n", 0600);
}

bool has_mark(const std::string& folder, const Json& wanted) {
  const Json mark = read_mark(folder);
  if (!mark.is_object()) return false;
  for (const auto& [name, value] : wanted.members())
    if (!(mark[name] == value)) return false;
  return wanted.members().size() > 0;
}

}  // namespace sickbay
