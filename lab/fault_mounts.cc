// SPDX-License-Identifier: Apache-2.0
// Full, read-only and missing file systems.
//
// Each heal looks at the machine's own mount table first, so that it undoes only what is there: after half an
// inject, or a second time.
#include "lab/fault_mounts.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "lab/shown.h"

namespace sickbay::lab {
namespace {

// What the fault's value means on this machine.
std::string path_of(const Target& t) {
  if (t.fault.spec.kind == FaultKind::storage_away) return t.layout.path("home");
  if (t.fault.spec.value == "spool") return t.layout.path("nodes/" + t.machine.name + "/spool");
  return t.fault.spec.value;
}
std::string tag_of(const Target& t) { return "sickbay-" + t.fault.id; }
std::string kept_of(const Target& t) {
  return t.layout.path("nodes/" + t.machine.name + "/kept-" + t.fault.id);
}

Status on_machine(const Target& t, const std::function<Status()>& work) {
  return run_within(t.holder.pid, kAllSpaces, work);
}

// The top mount at a path, seen from inside.
Result<MountPoint> top_mount(const std::string& path) {
  auto text = read_text("/proc/self/mountinfo");
  if (!text) return tl::unexpected(text.error());
  const std::vector<MountPoint> all = parse_mountinfo(*text);
  const auto found =
      std::find_if(all.rbegin(), all.rend(), [&](const MountPoint& m) { return m.path == path; });
  if (found == all.rend()) return fail(ErrorCode::not_found, path + " is not a mount point");
  return *found;
}

Status detach(const std::string& path) {
  if (::umount2(path.c_str(), MNT_DETACH) != 0) return fail(os_error("could not unmount " + path));
  return {};
}

}  // namespace

std::vector<MountPoint> parse_mountinfo(const std::string& text) {
  const auto plain = [](const std::string& escaped) {
    std::string out;
    for (std::size_t i = 0; i < escaped.size(); ++i)
      if (escaped[i] == '\\' && i + 3 < escaped.size())
        out += static_cast<char>(std::stoi(escaped.substr(i + 1, 3), nullptr, 8)), i += 3;
      else
        out += escaped[i];
    return out;
  };
  std::vector<MountPoint> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw   (proc(5))
    std::istringstream words(line);
    std::string id, parent, device, root, path, options, word, type, source;
    if (!(words >> id >> parent >> device >> root >> path >> options)) continue;
    while (words >> word && word != "-") {
    }
    words >> type >> source;
    found.push_back({plain(path), plain(root), options, plain(source)});
  }
  return found;
}

Status check_path(const Target& t) {
  const std::string path = path_of(t);
  return on_machine(t, [&]() -> Status {
    if (std::filesystem::is_directory(path)) return {};
    return fail(Error(ErrorCode::not_found, fmt::format("{} is not a folder on {}", path, t.machine.name)));
  });
}

Status check_mounted(const Target& t) {
  const std::string path = path_of(t);
  return on_machine(t, [&]() -> Status {
    if (top_mount(path)) return {};
    return fail(
        Error(ErrorCode::not_found, fmt::format("{} is not a mount point on {}", path, t.machine.name))
            .remedied_by(fmt::format("choose one of its mounts: {}, {}, /tmp, ...", t.layout.path("home"),
                                     t.layout.path("run"))));
  });
}

Status inject_disk_full(Target& t) {
  const std::string path = path_of(t);
  return on_machine(t, [&]() -> Status {
    struct stat its {};
    if (::stat(path.c_str(), &its) != 0) return fail(os_error("could not look at " + path));
    const std::string options = fmt::format("size=1m,mode={:o}", its.st_mode & 07777);
    auto shown = Shown::hold(t.layout, path);
    if (!shown) return tl::unexpected(shown.error());
    if (::mount(tag_of(t).c_str(), path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
      return fail(os_error("could not mount a tmpfs on " + path));
    if (auto done = shown->show(); !done) return done;  // while there is room for its mount points
    const int fd = ::open((path + "/full").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return fail(os_error("could not fill " + path));
    const std::string block(4096, '\0');
    while (::write(fd, block.data(), block.size()) > 0) {
    }
    const bool full = errno == ENOSPC;
    ::close(fd);
    if (!full) return fail(os_error("could not fill " + path));
    return {};
  });
}
Status heal_disk_full(Target& t) {
  const std::string path = path_of(t);
  return on_machine(t, [&]() -> Status {
    const auto top = top_mount(path);
    return top && top->source == tag_of(t) ? detach(path) : Status{};
  });
}

Status inject_read_only(Target& t) {
  const std::string path = path_of(t);
  return on_machine(t, [&]() -> Status {
    auto shown = Shown::hold(t.layout, path);
    if (!shown) return tl::unexpected(shown.error());
    // A second mount over the first: remounting the first itself would fail while a file on it is written.
    if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return fail(os_error("could not bind " + path));
    if (::mount(nullptr, path.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      auto error = os_error("could not remount " + path);
      ::umount2(path.c_str(), MNT_DETACH);
      return fail(std::move(error));
    }
    return shown->show();
  });
}
Status heal_read_only(Target& t) {
  const std::string path = path_of(t);
  return on_machine(t, [&]() -> Status {
    const auto top = top_mount(path);
    return top && (top->options + ",").rfind("ro,", 0) == 0 ? detach(path) : Status{};
  });
}

Status inject_unmount(Target& t) {
  const std::string path = path_of(t), kept = kept_of(t);
  const std::string empty = t.layout.path("nodes/" + t.machine.name + "/empty");
  if (auto made = make_folder(kept); !made) return made;
  return on_machine(t, [&]() -> Status {
    auto shown = Shown::hold(t.layout, path);
    if (!shown) return tl::unexpected(shown.error());
    // Moved aside with what is mounted in it, so that heal can bring the very same one back.
    if (::mount(path.c_str(), kept.c_str(), nullptr, MS_MOVE, nullptr) != 0)
      return fail(os_error("could not take away " + path));
    // Below may lie a folder of the host; a mount point without its mount is empty.
    if (!std::filesystem::is_directory(path)) return {};
    if (::mount(empty.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return fail(os_error("could not empty " + path));
    return shown->show();
  });
}
Status heal_unmount(Target& t) {
  const std::string path = path_of(t), kept = kept_of(t);
  auto done = on_machine(t, [&]() -> Status {
    if (!top_mount(kept)) return {};
    // Take the empty folder away, if inject came that far.
    if (const auto top = top_mount(path); top && top->root.ends_with("/empty"))
      if (auto detached = detach(path); !detached) return detached;
    if (::mount(kept.c_str(), path.c_str(), nullptr, MS_MOVE, nullptr) != 0)
      return fail(os_error("could not mount " + path + " again"));
    return {};
  });
  if (done) ::rmdir(kept.c_str());
  return done;
}

}  // namespace sickbay::lab
