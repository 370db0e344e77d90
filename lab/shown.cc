// SPDX-License-Identifier: Apache-2.0
// Finding the folders, holding them, and binding them back.  See shown.h.
#include "lab/shown.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "lab/child.h"

namespace sickbay::lab {
namespace {

namespace fs = std::filesystem;

// Covered by an empty folder, one of these would take the system's own programs and files with it.
constexpr auto kSystemFolders = std::to_array<const char*>(
    {"/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/var"});
// What alice runs, or slurmd and sickbayd for her.
constexpr auto kLinkedPrograms =
    std::to_array<const char*>({"sickbay", "sickbay-folder", "sickbay-slurm", "sickbay-verify"});

bool others_may(const struct stat& its, mode_t rights) { return (its.st_mode & rights) == rights; }
constexpr mode_t kEnter = S_IXOTH, kEnterAndRead = S_IXOTH | S_IROTH;

bool lies_below(const std::string& path, const std::string& place) {
  return place == "/" || path.rfind(place + "/", 0) == 0;
}

// "/a/b/c": "/a", "/a/b".
std::vector<std::string> folders_above(const std::string& path) {
  std::vector<std::string> above;
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    above.push_back(path.substr(0, at));
  return above;
}

std::string of_fd(int fd, const std::string& name = "") {
  return fmt::format("/proc/self/fd/{}{}{}", fd, name.empty() ? "" : "/", name);
}

Status make_mount_point(const std::string& path, bool folder) {
  if (folder) {
    // (chmod: a fault is injected under whatever umask its caller has.)
    if (::mkdir(path.c_str(), 0755) == 0 ? ::chmod(path.c_str(), 0755) != 0 : errno != EEXIST)
      return fail(os_error("could not make the folder " + path));
    return {};
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return fail(os_error("could not make " + path));
  ::close(fd);
  return {};
}

// An empty folder over `path`, which everybody may enter.
Status cover(const std::string& path) {
  if (::mount("sickbay-way", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") != 0)
    return fail(os_error("could not mount a tmpfs on " + path));
  return {};
}

Status bind_back(const std::string& from, const std::string& to) {
  // With what is mounted in it: of a lab its run/ and home/.
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return fail(os_error(fmt::format("could not bind {} to {}", from, to)));
  return {};
}

// The flags of the file system (nosuid and so on) stay as they are.  An older kernel lets it be writable.
Status forbid_writing(const std::string& path) {
  mount_attr read_only{};
  read_only.attr_set = MOUNT_ATTR_RDONLY;
  if (::mount_setattr(AT_FDCWD, path.c_str(), AT_RECURSIVE, &read_only, sizeof read_only) != 0 &&
      errno != ENOSYS)
    return fail(os_error("could not make " + path + " read-only"));
  return {};
}

// A folder which others may not enter itself (mktemp -d made it, say): another in its place, with the same in
// it.
Status mirror(int fd, const std::string& path) {
  if (auto done = cover(path); !done) return done;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(of_fd(fd), failed)) {
    const std::string name = entry.path().filename().string(), to = path + "/" + name;
    const fs::file_status kind = entry.symlink_status(failed);
    if (fs::is_symlink(kind)) {
      const fs::path target = fs::read_symlink(entry.path(), failed);
      if (::symlink(target.c_str(), to.c_str()) != 0) return fail(os_error("could not make " + to));
    } else if (fs::is_directory(kind) || fs::is_regular_file(kind)) {
      if (auto done = make_mount_point(to, fs::is_directory(kind)); !done) return done;
      if (auto done = bind_back(of_fd(fd, name), to); !done) return done;
    }
  }
  if (failed) return fail(ErrorCode::os, fmt::format("could not read {}: {}", path, failed.message()));
  return {};
}

// Makes `path` a folder that can be entered, with all above it.
Status make_way(const std::string& path) {
  for (const std::string& folder : folders_above(path)) {
    struct stat its {};
    if (::stat(folder.c_str(), &its) != 0) {
      if (auto done = make_mount_point(folder, true); !done) return done;
    } else if (!others_may(its, kEnter)) {
      if (auto done = cover(folder); !done) return done;
    }
  }
  return make_mount_point(path, true);
}

// Which of the mapped files of this process are libraries.
std::vector<std::string> own_libraries() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (const std::size_t path = line.find('/');
        path != std::string::npos && line.find(".so", path) != std::string::npos)
      paths.insert(line.substr(path));
  return {paths.begin(), paths.end()};
}

std::string own_program_path() {
  std::error_code failed;
  return fs::read_symlink("/proc/self/exe", failed).string();
}

// CMake notes in its build folder which checkout it was configured for.
std::string checkout_of(const std::string& build) {
  constexpr std::string_view kKey = "CMAKE_HOME_DIRECTORY:INTERNAL=";
  std::ifstream cache(build + "/CMakeCache.txt");
  for (std::string line; std::getline(cache, line);)
    if (line.rfind(kKey, 0) == 0) return line.substr(kKey.size());
  return "";
}

Status check_readable(const std::string& file, mode_t rights, const std::vector<std::string>& folders) {
  struct stat its {};
  if (::stat(file.c_str(), &its) != 0 || others_may(its, rights)) return {};
  // What lies beside it was made alike: the remedy is for all of it.
  std::string all = fs::path(file).parent_path().string();
  for (const std::string& folder : folders)
    if (lies_below(file, folder) && folder.size() < all.size()) all = folder;
  return fail(
      Error(ErrorCode::usage, fmt::format("the users of a lab may not run {}", file))
          .because(fmt::format("its mode is {:o}; it was made under a umask that forbids others to read",
                               its.st_mode & 07777))
          .remedied_by(fmt::format("chmod -R go+rX {}", all)));
}

Status check_folder(const std::string& folder) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed))
    return fail(Error(ErrorCode::not_found, folder + " is not a folder, so no machine of a lab can see it")
                    .remedied_by("name a folder of this host"));
  if (folder == "/tmp")
    return fail(Error(ErrorCode::usage, "the machines of a lab cannot see all of /tmp")
                    .because("each of them has a /tmp of its own")
                    .remedied_by("use a folder in it, or another: mkdir /tmp/sickbay, and move it there"));
  for (const std::string& above : folders_above(folder + "/")) {
    struct stat its {};
    const bool closed = ::stat(above.c_str(), &its) == 0 && !others_may(its, kEnter);
    if (closed && std::find(kSystemFolders.begin(), kSystemFolders.end(), above) != kSystemFolders.end())
      return fail(
          Error(ErrorCode::usage, fmt::format("the users of a lab may not enter {}", folder))
              .because(fmt::format("others may not enter {}, which holds more that a machine needs", above))
              .remedied_by(fmt::format("chmod o+x {}, or use another folder", above)));
  }
  return {};
}

}  // namespace

std::vector<std::string> folders_of_program(const std::string& program,
                                            const std::vector<std::string>& libraries) {
  const fs::path bin = fs::path(program).parent_path(), prefix = bin.parent_path();
  std::set<std::string> folders = {bin.string()};
  std::error_code ignored;
  if (const std::string checkout = checkout_of(prefix.string()); !checkout.empty()) {
    folders.insert(prefix.string());
    if (fs::is_directory(checkout, ignored)) folders.insert(fs::canonical(checkout, ignored).string());
  }
  for (const char* part : {"libexec/sickbay", "share/sickbay", "lib/sickbay"})
    if (fs::is_directory(prefix / part, ignored)) folders.insert((prefix / part).string());
  for (const std::string& library : libraries)
    if (!lies_below(library, "/usr") && !lies_below(library, "/lib"))
      folders.insert(fs::path(library).parent_path().string());
  return {folders.begin(), folders.end()};
}

std::vector<std::string> own_folders() { return folders_of_program(own_program_path(), own_libraries()); }

std::string own_checkout() {
  return checkout_of(fs::path(own_program_path()).parent_path().parent_path().string());
}

Status check_shown(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders)
    if (auto good = check_folder(folder); !good) return good;
  const fs::path bin = fs::path(own_program_path()).parent_path();
  for (const char* name : kLinkedPrograms)
    if (auto good = check_readable((bin / name).string(), kEnterAndRead, folders); !good) return good;
  for (const std::string& library : own_libraries())
    if (auto good = check_readable(library, S_IROTH, folders); !good) return good;
  return {};
}

Result<Shown> Shown::hold(const Layout& l, const std::string& place) {
  Shown shown;
  const auto add = [&](const std::string& path, bool writable) -> Status {
    if (!lies_below(path, place)) return {};
    const int fd = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fail(os_error("could not open " + path));
    shown.held_.push_back({path, writable, fd});
    return {};
  };
  if (auto done = add(l.dir(), true); !done) return tl::unexpected(done.error());
  for (const std::string& path : l.wishes.shown)
    if (auto done = add(path, false); !done) return tl::unexpected(done.error());
  std::stable_sort(shown.held_.begin(), shown.held_.end(),
                   [](const Held& a, const Held& b) { return a.path.size() < b.path.size(); });
  return shown;
}

Status Shown::show() const {
  for (const Held& held : held_)
    if (auto done = show(held); !done) return done;
  return {};
}

Status Shown::show(const Held& held) const {
  if (auto done = make_way(held.path); !done) return done;
  struct stat wanted {
  }, there{};
  struct statvfs system {};
  if (::fstat(held.fd, &wanted) != 0 || ::stat(held.path.c_str(), &there) != 0 ||
      ::statvfs(held.path.c_str(), &system) != 0)
    return fail(os_error("could not look at " + held.path));
  const bool open = others_may(wanted, kEnterAndRead);
  const bool visible = wanted.st_dev == there.st_dev && wanted.st_ino == there.st_ino;
  if (visible && open && !(held.writable && (system.f_flag & ST_RDONLY) != 0)) return {};
  if (auto done = open ? bind_back(of_fd(held.fd), held.path) : mirror(held.fd, held.path); !done)
    return done;
  return held.writable ? Status{} : forbid_writing(held.path);
}

Shown::~Shown() {
  for (const Held& held : held_) ::close(held.fd);
}

}  // namespace sickbay::lab
