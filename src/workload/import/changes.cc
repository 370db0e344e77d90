// SPDX-License-Identifier: Apache-2.0
#include "workload/import/changes.h"

#include <sys/stat.h>

namespace sickbay::workload {

bool FileChanges::look(const std::string& path, State& state) {
  struct stat s = {};
  if (::stat(path.c_str(), &s) != 0) return false;
  state = {s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec * 1'000'000'000LL + s.st_mtim.tv_nsec};
  return true;
}

std::vector<std::string> FileChanges::changed(const std::vector<std::string>& paths) const {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    State now;
    if (!look(path, now)) continue;
    const auto before = known_.find(path);
    if (before == known_.end() || before->second != now) found.push_back(path);
  }
  return found;
}

void FileChanges::remember(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    State now;
    if (look(path, now)) known_[path] = now;
  }
}

void FileChanges::forget(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) known_.erase(path);
}

void watch(const std::function<Status()>& round, const std::function<bool()>& wait,
           const std::function<bool(const Error&)>& failed) {
  do {
    if (auto done = round(); !done && !failed(done.error())) return;
  } while (wait());
}

}  // namespace sickbay::workload
