// SPDX-License-Identifier: Apache-2.0
#include "storage_phase.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/mount_table.h"
#include "beat.h"
#include "phases.h"
#include "seconds.h"

namespace sickbay::verify {
namespace {

constexpr std::size_t kMostPlaces = 24;  // (a line of a phase stays under 4 KiB)

/// In a child of a process with threads: nothing but calls of the kernel.
[[noreturn]] void ask_in_child(const char* place) {
  struct stat is {};
  struct statfs fs {};
  // stat may be answered from what is remembered here; statfs goes to the server.
  if (::stat(place, &is) != 0 || ::statfs(place, &fs) != 0) ::_exit(errno & 0xff);
  ::_exit(0);
}

std::string words_of(int status) {
  if (!WIFEXITED(status)) return "whoever asked it was killed";
  const int code = WEXITSTATUS(status);
  // Not everybody may look into it, and who may not was answered all the same.
  if (code == 0 || code == EACCES || code == EPERM) return "";
  return std::strerror(code);
}

std::string mountinfo() {
  std::ifstream in("/proc/self/mountinfo");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

PlaceWords ask_places(const std::vector<std::string>& places, double limit) {
  PlaceWords said;
  std::map<pid_t, std::string> asked;
  for (const std::string& place : places) {
    if (said.count(place)) continue;
    const pid_t child = ::fork();
    if (child == 0) ask_in_child(place.c_str());
    said[place] = child < 0 ? "" : fmt::format("no answer within {:.0f} s", limit);
    if (child > 0) asked[child] = place;
  }
  for (const double begun = seconds_now(); !asked.empty() && seconds_now() - begun < limit;) {
    for (auto it = asked.begin(); it != asked.end();) {
      int status = 0;
      if (::waitpid(it->first, &status, WNOHANG) == 0) {
        ++it;
        continue;
      }
      said[it->second] = words_of(status);
      it = asked.erase(it);
    }
    tick();
    ::usleep(2'000);
  }
  for (const auto& [child, place] : asked) ::kill(child, SIGKILL);  // (and it is not waited for)
  return said;
}

std::vector<std::string> shared_places(const std::string& text, std::size_t most) {
  const std::vector<Mount> mounts = parse_mountinfo(text);
  std::vector<std::string> places;
  for (const Mount& m : mounts) {
    if (!is_from_elsewhere(m.type)) continue;
    const bool comes_and_goes = std::any_of(mounts.begin(), mounts.end(), [&](const Mount& other) {
      return other.type == "autofs" && lies_below(m.place, other.place);
    });
    if (!comes_and_goes && places.size() < most) places.push_back(m.place);
  }
  return places;
}

std::string mount_of(const std::string& text, const std::string& folder) {
  std::string best = "/";
  for (const Mount& m : parse_mountinfo(text))
    if (m.type != "autofs" && lies_below(folder, m.place) && m.place.size() > best.size()) best = m.place;
  return best;
}

Finding storage_phase(const Options& options) {
  Finding found{.phase = "storage", .unit = "s"};
  const std::string mounts = mountinfo();
  std::vector<std::string> places = shared_places(mounts, kMostPlaces);
  if (!options.folder.empty()) places.push_back(options.folder);
  const double begun = seconds_now();
  PlaceWords said = ask_places(places, options.storage_wait);
  found.value = seconds_now() - begun;
  if (!options.folder.empty()) {
    const auto folder = said.extract(options.folder);
    found.words = {{"folder", options.folder},
                   // (An automounter has mounted it by now.)
                   {"mount", mount_of(mountinfo(), options.folder)},
                   {"folder_is", folder.mapped().empty() ? "there" : folder.mapped()}};
    if (std::find(places.begin(), places.end() - 1, options.folder) != places.end() - 1)
      said[options.folder] = folder.mapped();
  }
  found.places = std::move(said);
  return found;
}

}  // namespace sickbay::verify
