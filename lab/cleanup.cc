// SPDX-License-Identifier: Apache-2.0
// Writing the cleanup list and undoing what stands in it.
#include "lab/cleanup.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lab/layout.h"

namespace sickbay::lab {
namespace {

namespace fs = std::filesystem;
using Kind = CleanupItem::Kind;
using std::chrono::milliseconds;

struct KindRow {
  Kind kind;
  const char* name;
};
constexpr auto kKinds = std::to_array<KindRow>(
    {{Kind::process, "process"}, {Kind::cgroup, "cgroup"}, {Kind::link, "link"}, {Kind::folder, "folder"}});

// A cgroup goes when it is empty; who still sits in it is moved up first (they are not ours to kill here: the
// lab's processes have ended already, since they come later in the list or under a holder).
Status remove_cgroup(const std::string& path) {
  if (!fs::exists(path)) return {};
  const bool gone = wait_until(milliseconds{5000}, [&] {
    std::error_code ignored;
    for (const auto& inner : fs::directory_iterator(path, ignored))
      if (inner.is_directory()) (void)remove_cgroup(inner.path().string());
    std::ifstream members(path + "/cgroup.procs");
    for (std::string pid; std::getline(members, pid);)
      std::ofstream(fs::path(path).parent_path().string() + "/cgroup.procs") << pid;
    return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
  });
  if (!gone) return fail(os_error("could not remove the cgroup " + path));
  return {};
}

Status undo_item(const CleanupItem& item) {
  std::error_code failed;
  switch (item.kind) {
    case Kind::process:
      // A holder is process 1 of its node: with it the kernel ends all that runs there.
      if (!end_process(item.process, milliseconds{0}))
        return fail(ErrorCode::timed_out,
                    fmt::format("process {} ({}) is still there after SIGKILL", item.process.pid, item.what));
      return {};
    case Kind::cgroup:
      return remove_cgroup(item.what);
    case Kind::link:
      if (fs::is_symlink(item.what)) fs::remove(item.what, failed);
      if (failed)
        return fail(ErrorCode::os, fmt::format("could not remove {}: {}", item.what, failed.message()));
      return {};
    case Kind::folder: {
      // Never across a mount: everything of the lab is mounted in the holders' namespaces, so a mount seen
      // here is somebody else's, and what is on it too.
      std::ifstream mounts("/proc/self/mounts");
      for (std::string device, place, rest; mounts >> device >> place && std::getline(mounts, rest);)
        if (place == item.what || place.rfind(item.what + "/", 0) == 0)
          return fail(Error(ErrorCode::conflict, fmt::format("{} is mounted inside the lab's folder", place))
                          .remedied_by(fmt::format("umount {} and run 'sickbay lab down' again", place)));
      // The list itself goes last, so that a crash in here can be taken up again.  A process that is just
      // ending may still write a line into a log: then the next round finds it.
      const bool gone = wait_until(milliseconds{3000}, [&] {
        for (const auto& entry : fs::directory_iterator(item.what, failed))
          if (entry.path().filename() != "cleanup" && entry.path().filename() != "lab.conf")
            fs::remove_all(entry.path(), failed);
        fs::remove_all(item.what, failed);
        return !fs::exists(item.what);
      });
      if (!gone)
        return fail(ErrorCode::os, fmt::format("could not remove {}: {}", item.what, failed.message()));
      return {};
    }
  }
  return {};
}

}  // namespace

std::string print_item(const CleanupItem& item) {
  const char* name = kKinds[static_cast<std::size_t>(item.kind)].name;
  if (item.kind == Kind::process)
    return fmt::format("{} {} {} {}\n", name, item.process.pid, item.process.start, item.what);
  return fmt::format("{} {}\n", name, item.what);
}

Result<std::vector<CleanupItem>> parse_cleanup(const std::string& text) {
  std::vector<CleanupItem> items;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    std::istringstream line(text.substr(at, end - at));
    at = end + 1, ++number;
    std::string kind;
    line >> kind;
    const auto row =
        std::find_if(kKinds.begin(), kKinds.end(), [&](const KindRow& r) { return kind == r.name; });
    CleanupItem item{row != kKinds.end() ? row->kind : Kind::process, "", {}};
    if (item.kind == Kind::process) line >> item.process.pid >> item.process.start;
    if (row == kKinds.end() || !line || !std::getline(line >> std::ws, item.what))
      return fail(Error(ErrorCode::bad_input, fmt::format("cleanup:{}: not understood", number))
                      .remedied_by("end what the other lines name by hand, then remove the lab's folder"));
    items.push_back(std::move(item));
  }
  return items;
}

Status CleanupList::add(const CleanupItem& item) const {
  const int fd = ::open(path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return fail(os_error("could not write " + path()));
  const std::string line = print_item(item);
  const bool good = ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  auto error = os_error("could not write " + path());
  ::close(fd);
  if (!good) return fail(std::move(error));
  return {};
}

Status CleanupList::add_process(const Process& process, const std::string& name) const {
  return add({Kind::process, name, process});
}

Result<std::vector<CleanupItem>> CleanupList::read() const {
  auto text = read_text(path());
  if (!text) return tl::unexpected(text.error());
  return parse_cleanup(*text);
}

Status CleanupList::undo() const {
  auto items = read();
  if (!items) return tl::unexpected(items.error());
  Status first;
  // Processes first and all at once: ending a holder takes its node down, and the kernel does them in
  // parallel.
  for (const CleanupItem& item : *items)
    if (item.kind == Kind::process) send_signal(item.process, SIGKILL);
  for (auto item = items->rbegin(); item != items->rend(); ++item) {
    if (!first && item->kind == Kind::folder) break;  // keep the list while something is left
    if (auto done = undo_item(*item); !done && first) first = std::move(done);
  }
  return first;
}

}  // namespace sickbay::lab
