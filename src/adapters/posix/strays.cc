// SPDX-License-Identifier: Apache-2.0
// A stray's parent has died, so that it is our child: it is in /proc/self/task/*/children, and its number is
// nobody else's before we have waited for it.  Killing one makes its own children ours, hence the rounds.
#include "adapters/posix/strays.h"

#include <dirent.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "adapters/posix/files.h"

namespace sickbay {
namespace {

// Of each of our threads: the kernel keeps a child with the thread that forked it, or that adopted it.
std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir("/proc/self/task"), ::closedir);
  while (const dirent* task = tasks ? ::readdir(tasks.get()) : nullptr) {
    if (task->d_name[0] == '.') continue;
    const auto text =
        read_file(fmt::format("/proc/self/task/{}/children", task->d_name), std::size_t{1} << 20);
    if (!text) continue;
    const char* at = text->data();
    const char* const end = at + text->size();
    while (at < end) {
      pid_t pid = 0;
      const auto [next, wrong] = std::from_chars(at, end, pid);
      if (wrong == std::errc() && pid > 0) pids.push_back(pid);
      at = std::max(next, at) + 1;
    }
  }
  return pids;
}

// Never destroyed: threads that nobody waits for use them.
struct OwnChildren {
  std::mutex mutex;
  std::set<const OwnChild*> all;
};
OwnChildren& own_children() {
  static auto* const children = new OwnChildren;
  return *children;
}

bool is_somebodys(pid_t pid) {
  OwnChildren& own = own_children();
  const std::lock_guard<std::mutex> lock(own.mutex);
  return std::ranges::any_of(own.all, [pid](const OwnChild* child) { return child->pid() == pid; });
}

enum class Kin { no, yes, unclear };

// Unclear: it has no environment now.  It is leaving, or in the midst of an exec; or it was started with
// none.
Kin kin(pid_t pid, const std::string& family) {
  const auto environment = read_file(fmt::format("/proc/{}/environ", pid), std::size_t{4} << 20);
  if (!environment || environment->empty()) return Kin::unclear;
  // Whole entries only: "...-1" is not "...-12".
  const std::string padded = '\0' + *environment + '\0';
  return padded.find('\0' + family + '\0') != std::string::npos ? Kin::yes : Kin::no;
}

}  // namespace

OwnChild::OwnChild() {
  const std::lock_guard<std::mutex> lock(own_children().mutex);
  own_children().all.insert(this);
}

OwnChild::~OwnChild() {
  const std::lock_guard<std::mutex> lock(own_children().mutex);
  own_children().all.erase(this);
}

bool adopt_strays() { return ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

int kill_strays(const std::string& family) {
  using std::chrono::milliseconds;
  const auto began = std::chrono::steady_clock::now();
  int killed = 0;
  std::vector<pid_t> counted;
  for (;;) {
    const auto spent = std::chrono::steady_clock::now() - began;
    std::vector<pollfd> waited_for;
    for (const pid_t pid : children()) {
      if (is_somebodys(pid)) continue;
      // One that has ended is only collected; without a family none is killed.
      if (::waitpid(pid, nullptr, WNOHANG) == pid || family.empty()) continue;
      const Kin found = kin(pid, family);
      // What stays unclear has no environment for good, and is left alone.
      if (found == Kin::no || (found == Kin::unclear && spent > milliseconds(20))) continue;
      if (found == Kin::yes) {
        ::kill(pid, SIGKILL);
        if (std::find(counted.begin(), counted.end(), pid) == counted.end()) {
          counted.push_back(pid);
          ++killed;
        }
      }
      const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
      if (fd >= 0) waited_for.push_back({fd, POLLIN, 0});
    }
    // A millisecond for them to end, or to finish their exec; 100 ms in all, for the loop stands meanwhile.
    if (!waited_for.empty()) ::poll(waited_for.data(), waited_for.size(), 1);
    for (const pollfd& p : waited_for) ::close(p.fd);
    if (waited_for.empty() || spent >= milliseconds(100)) return killed;
  }
}

}  // namespace sickbay
